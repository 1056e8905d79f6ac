# Verbs only; the logic is Python behind ./tollgate. NAME=value settings are passed on as they were
# written: neither make nor the shell reads what is in them.
GIVEN = $(foreach name,$(sort $(.VARIABLES)),$(if $(filter command,$(origin $(name))),$(call quoted,$(name)=$(value $(name)))))
quoted = '$(subst ','\'',$(1))'
.DEFAULT_GOAL := help
.PHONY: help bench reproduce images engine up down bundle load engine-check doctor report verify \
  compare archive clean test check bench-evaluator bench-publisher

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's|^([a-z-]+):.*## (.*)|\1#\2|' | awk -F'#' '{printf "  make %-15s %s\n", $$1, $$2}'
	@echo
	@./tollgate help | sed -n '/^settings/,$$p'

bench: ## what does a stage cost? (STAGE=join RATE=2000 …)
	@./tollgate bench $(GIVEN)

reproduce: ## do the paper's claims hold here? (QUICK=1 for a first look; goes on if interrupted)
	@./tollgate reproduce $(GIVEN)

images: ## build every image of the appliance that is lacking
	@./tollgate images $(GIVEN)

engine: ## no Docker engine here? install and start one (DRY=1 says what it would do)
	@./tollgate engine $(GIVEN)

up: ## keep brokers, HDFS and monitoring in containers between campaigns (BROKERS=5)
	@./tollgate up $(GIVEN)

down: ## take every container, network and volume of this checkout away
	@./tollgate down $(GIVEN)

bundle: ## all images in one file, for a reviewer without a network (BUNDLE=file)
	@./tollgate bundle $(GIVEN)

load: ## load such a file here, or on HOSTS (BUNDLE=file)
	@./tollgate load $(GIVEN)

engine-check: ## does an engine give the right answers? (ENGINE=spark)
	@./tollgate engine-check $(GIVEN)

doctor: ## what has this machine, what will it cost, what is in the way?
	@./tollgate doctor $(GIVEN)

report: ## write a campaign's report anew (CAMPAIGN=results/latest)
	@./tollgate report $(GIVEN)

verify: ## rebuild a campaign, or an archive, from its topics and samples (CAMPAIGN=results/latest)
	@./tollgate verify $(GIVEN)

compare: ## same work: which is faster? (ENGINES=spark,flink runs them; or two campaigns: A=… B=…)
	@./tollgate compare $(GIVEN)

archive: ## pack a campaign into one file to publish (CAMPAIGN=results/latest SLIM=1 ARCHIVE=file)
	@./tollgate archive $(GIVEN)

clean: ## take away what was left behind (WHAT=temporary|images|results|all)
	@./tollgate clean $(GIVEN)

check: ## lint, types and all tests that need no broker
	@./tollgate python -m tests.check

test: ## all of it: check, then the system tests with real brokers and engines
	@./tollgate python -m tests.check --all

bench-evaluator: ## how long is a run judged, and how long by DuckDB? (MILLIONS='0.1 1 5 20')
	@./tollgate python -m tests.bench.evaluator $(MILLIONS)

bench-publisher: ## what does the publisher cost, and what Kafka's own? (RATES='26000 0' TURNS=3)
	@TURNS='$(TURNS)' ./tollgate python -m tests.bench.publisher $(RATES)
