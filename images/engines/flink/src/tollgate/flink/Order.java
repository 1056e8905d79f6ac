package tollgate.flink;

import java.io.IOException;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.type.TypeReference;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** What the engine is asked to do, by its environment; what it does not do it refuses. */
final class Order implements Serializable {
    static final int REFUSED = 64;
    private static final List<String> STAGES =
            List.of("ingest", "parse", "join", "tumbling", "sliding");
    /** The words that a setting may have. */
    private static final Map<String, List<String>> CHOICES =
            Map.of(
                    "join", List.of("interval", "window"),
                    "state_store", List.of("memory", "rocksdb"));
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Map<String, String> env;
    private final Map<String, Object> settings;
    private final Map<String, String> topics = new TreeMap<>();

    private Order(Map<String, String> env) throws Refusal {
        this.env = env;
        oneOf("WORKLOAD", List.of("traffic"));
        oneOf("STAGE", STAGES);
        oneOf("MODE", List.of("streaming"));
        oneOf("DIALECT", List.of("eager", "windowed"));
        for (String pair : said("INPUT_TOPICS").split(",")) {
            String[] parts = pair.split("=", 2);
            topics.put(parts[0], parts[parts.length - 1]);
        }
        settings = object("ENGINE_SETTINGS", new TypeReference<Map<String, Object>>() {});
        for (String name : new TreeSet<>(CHOICES.keySet())) {
            known(name, String.valueOf(settings.get(name)), CHOICES.get(name));
        }
        for (String name : List.of("watermark_interval_ms", "idle_ms", "rocksdb_mb")) {
            if (!(settings.get(name) instanceof Number) || number(name) < 1) {
                throw new Refusal(name + " " + settings.get(name) + " is no whole number above 0");
            }
        }
    }

    static Order of(Map<String, String> env) throws Refusal {
        return new Order(new TreeMap<>(env));
    }

    /** An order that this engine does not take, in a sentence. */
    static final class Refusal extends Exception {
        Refusal(String says) {
            super(says);
        }
    }

    private void oneOf(String name, List<String> known) throws Refusal {
        known(name.toLowerCase(java.util.Locale.ROOT), said(name), known);
    }

    private static void known(String name, String value, List<String> known) throws Refusal {
        if (!known.contains(value)) {
            String there = String.join(", ", known);
            throw new Refusal("no " + name + " " + value + "; there is " + there);
        }
    }

    private String said(String name) throws Refusal {
        String value = env.get(name);
        if (value == null) {
            throw new Refusal("the environment does not set " + name);
        }
        return value;
    }

    private <T> T object(String name, TypeReference<T> type) throws Refusal {
        try {
            return JSON.readValue(said(name), type);
        } catch (IOException error) {
            throw new Refusal(name + " is no JSON object of the kind that is meant");
        }
    }

    String runId() {
        return env.get("RUN_ID");
    }

    String bootstrapServers() {
        return env.get("BOOTSTRAP_SERVERS");
    }

    String flowTopic() {
        return topics.get("flow");
    }

    String speedTopic() {
        return topics.get("speed");
    }

    String outputTopic() {
        return env.get("OUTPUT_TOPIC");
    }

    String stateDir() {
        return env.get("STATE_DIR");
    }

    boolean isWindowed() {
        return env.get("DIALECT").equals("windowed");
    }

    /** Whether the pipeline goes at least up to that stage. */
    boolean reaches(String stage) {
        return STAGES.indexOf(env.get("STAGE")) >= STAGES.indexOf(stage);
    }

    int parallelism() {
        return Integer.parseInt(env.get("PARALLELISM"));
    }

    int instances() {
        return Integer.parseInt(env.get("INSTANCES"));
    }

    int instance() {
        return Integer.parseInt(env.get("INSTANCE"));
    }

    /** host:port of each instance of each service. */
    Map<String, List<String>> peers() throws Refusal {
        return object("PEERS", new TypeReference<Map<String, List<String>>>() {});
    }

    long number(String setting) {
        return Math.round(((Number) settings.get(setting)).doubleValue());
    }

    double decimal(String setting) {
        return ((Number) settings.get(setting)).doubleValue();
    }

    boolean flag(String setting) {
        return Boolean.parseBoolean(settings.get(setting).toString());
    }

    String word(String setting) {
        return settings.get(setting).toString();
    }
}
