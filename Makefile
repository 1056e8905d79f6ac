# Verbs only; the logic is Python behind ./tollgate. NAME=value settings are passed on as they are.
.DEFAULT_GOAL := help
.PHONY: help bench engine-check doctor report verify clean test check

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's|^([a-z-]+):.*## (.*)|\1#\2|' | awk -F'#' '{printf "  make %-13s %s\n", $$1, $$2}'
	@echo
	@./tollgate help | sed -n '/^settings/,$$p'

bench: ## what does a stage cost? (STAGE=join RATE=2000 …)
	@./tollgate bench $(MAKEOVERRIDES)

engine-check: ## does an engine give the right answers? (ENGINE=spark)
	@./tollgate engine-check $(MAKEOVERRIDES)

doctor: ## what has this machine, what will it cost, what is in the way?
	@./tollgate doctor $(MAKEOVERRIDES)

report: ## write a campaign's report anew (CAMPAIGN=results/latest)
	@./tollgate report $(MAKEOVERRIDES)

verify: ## rebuild every figure of a campaign from its samples (CAMPAIGN=results/latest)
	@./tollgate verify $(MAKEOVERRIDES)

clean: ## take away what was left behind (WHAT=temporary|results|all)
	@./tollgate clean $(MAKEOVERRIDES)

check: ## lint, types and all tests that need no broker
	@./tollgate python -m tests.check

test: ## all of it: check, then the system tests with real brokers and engines
	@./tollgate python -m tests.check --all
