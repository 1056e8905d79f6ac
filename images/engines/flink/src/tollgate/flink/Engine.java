package tollgate.flink;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.taskexecutor.TaskManagerRunner;
import sun.misc.Signal;

/** The engine's program: environment in, one of Flink's two processes, SIGTERM out. */
public final class Engine {
    /** Windowed sliding has an exchange before its join (of two inputs), one before each window. */
    private static final int EXCHANGES_MAX = 4;

    /** So long it may take to close; the contract gives 30 s from SIGTERM to the end. */
    private static final long CLOSE_MS_MAX = 15_000;

    private Engine() {}

    public static void main(String[] arguments) throws Exception {
        Order order;
        Map<String, String> settings;
        try {
            order = Order.of(System.getenv());
            settings = settings(order, arguments[0]);
        } catch (Order.Refusal refusal) {
            System.err.println("flink engine: " + refusal.getMessage());
            System.exit(Order.REFUSED);
            return;
        }
        // whoever is asked to stop and does has not failed
        AtomicBoolean isAsked = new AtomicBoolean();
        Signal.handle(
                new Signal("TERM"),
                signal -> {
                    isAsked.set(true);
                    Thread patience = new Thread(Engine::haltIfItHangs, "patience");
                    patience.setDaemon(true);
                    patience.start();
                    System.exit(0);
                });
        Configuration configured = Configuration.fromMap(settings);
        switch (arguments[0]) {
            case "jobmanager" -> {
                int code = Manager.run(configured);
                if (!isAsked.get()) {
                    System.exit(code);
                }
            }
            case "taskmanager" -> TaskManagerRunner.runTaskManagerProcessSecurely(configured);
            default -> throw new IllegalArgumentException("no part " + arguments[0]);
        }
    }

    /** A cluster that is closed while it starts may wait for itself for ever. */
    private static void haltIfItHangs() {
        try {
            Thread.sleep(CLOSE_MS_MAX);
        } catch (InterruptedException interrupted) {
            return;
        }
        Runtime.getRuntime().halt(0);
    }

    /** Flink's configuration: where its processes are, how large, and what matters for latency. */
    private static Map<String, String> settings(Order order, String part) throws Order.Refusal {
        Map<String, List<String>> peers = order.peers();
        String manager = peers.get("jobmanager").get(0);
        String own = peers.get(part).get(part.equals("jobmanager") ? 0 : order.instance() - 1);
        int slots = (order.parallelism() + order.instances() - 1) / order.instances();
        Map<String, String> told = new LinkedHashMap<>();
        told.put("jobmanager.rpc.address", host(manager));
        told.put("jobmanager.rpc.port", port(manager));
        told.put("jobmanager.bind-host", host(manager));
        told.put("rest.address", host(manager));
        told.put("rest.bind-address", host(manager));
        told.put("rest.bind-port", "0");
        told.put("web.submit.enable", "false");
        told.put("blob.server.port", "0");
        told.put("taskmanager.host", host(own));
        told.put("taskmanager.bind-host", host(own));
        told.put("taskmanager.rpc.port", part.equals("taskmanager") ? port(own) : "0");
        told.put("taskmanager.numberOfTaskSlots", Integer.toString(slots));
        told.put("taskmanager.cpu.cores", Integer.toString(slots));
        told.put("taskmanager.memory.task.heap.size", order.number("memory_mb") + "m");
        told.put("taskmanager.memory.task.off-heap.size", "0m");
        told.put("taskmanager.memory.framework.heap.size", "64m");
        told.put("taskmanager.memory.framework.off-heap.size", "64m");
        boolean isRocks = order.word("state_store").equals("rocksdb");
        String beside = isRocks ? order.number("rocksdb_mb") + "m" : "0m";
        told.put("taskmanager.memory.managed.size", beside);
        String network = networkMb(order.parallelism(), slots) + "m";
        told.put("taskmanager.memory.network.min", network);
        told.put("taskmanager.memory.network.max", network);
        told.put("taskmanager.memory.jvm-metaspace.size", "128m");
        told.put("taskmanager.memory.jvm-overhead.min", "64m");
        told.put("taskmanager.memory.jvm-overhead.max", "64m");
        told.put("parallelism.default", Integer.toString(order.parallelism()));
        told.put("restart-strategy.type", "disable");
        told.put("io.tmp.dirs", System.getProperty("java.io.tmpdir"));
        long checkpointMs = Math.round(order.decimal("checkpoint_s") * 1000);
        told.put("execution.checkpointing.interval", checkpointMs + "ms");
        told.put("execution.checkpointing.storage", "filesystem");
        Path checkpoints = Path.of(order.stateDir(), "checkpoints");
        told.put("execution.checkpointing.dir", checkpoints.toUri().toString());
        String unaligned = Boolean.toString(order.flag("unaligned"));
        told.put("execution.checkpointing.unaligned.enabled", unaligned);
        told.put("state.backend.type", isRocks ? "rocksdb" : "hashmap");
        // what RocksDB's own engineers ask for: only what is new is written at a checkpoint, and
        // timers, of which there are few, are not looked up on disk
        told.put("execution.checkpointing.incremental", Boolean.toString(isRocks));
        told.put("state.backend.rocksdb.timer-service.factory", "HEAP");
        told.put("execution.buffer-timeout.interval", order.number("buffer_timeout_ms") + "ms");
        told.put("pipeline.object-reuse", Boolean.toString(order.flag("object_reuse")));
        told.put("pipeline.generic-types", "false");
        told.put("pipeline.auto-watermark-interval", order.number("watermark_interval_ms") + "ms");
        return told;
    }

    /** Buffers of 32 KiB for the exchanges of so many slots with all others: 64 MiB or more. */
    private static long networkMb(int parallelism, int slots) {
        long buffers = (long) slots * EXCHANGES_MAX * (4L * (parallelism + 1) + 4L);
        return Math.max(64, buffers / 32 + 1);
    }

    private static String host(String address) {
        return address.substring(0, address.lastIndexOf(':'));
    }

    private static String port(String address) {
        return address.substring(address.lastIndexOf(':') + 1);
    }
}
