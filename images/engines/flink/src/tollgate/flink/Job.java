package tollgate.flink;

import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamUtils;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** The pipeline up to the stage that is asked for: source, stages, sink. */
public final class Job {
    private final Order order;
    private final String out;

    private Job(Order order) {
        this.order = order;
        this.out = order.outputTopic();
    }

    public static void main(String[] arguments) throws Exception {
        Order order = Order.of(System.getenv());
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(order.parallelism());
        new Job(order).build(env);
        env.execute(order.runId());
    }

    private void build(StreamExecutionEnvironment env) {
        if (!order.reaches("parse")) {
            publish(
                    env.fromSource(
                            Inputs.source(order, new Inputs.AsTheyCome()),
                            WatermarkStrategy.noWatermarks(),
                            "ingest"),
                    new Outputs.AsTheyCame(out));
            return;
        }
        DataStream<Reading> readings =
                env.fromSource(
                        Inputs.source(order, new Inputs.Parsed(order.flowTopic())),
                        watermarks(),
                        "parse");
        if (!order.reaches("join")) {
            publish(readings, new Outputs.Readings(out));
        } else if (order.isWindowed()) {
            windowed(readings);
        } else {
            eager(readings);
        }
    }

    /** Split by split, so that a backlog's partitions do not make each other late. */
    private WatermarkStrategy<Reading> watermarks() {
        long lateMs = order.isWindowed() ? order.number("watermark_ms") : 0;
        return WatermarkStrategy.<Reading>forBoundedOutOfOrderness(Duration.ofMillis(lateMs))
                .withTimestampAssigner((reading, read) -> reading.eventMs())
                .withIdleness(Duration.ofMillis(order.number("idle_ms")));
    }

    private void windowed(DataStream<Reading> readings) {
        DataStream<Lane> lanes = Windowed.join(readings, order.word("join").equals("window"));
        if (!order.reaches("tumbling")) {
            publish(lanes, new Outputs.Lanes(out));
            return;
        }
        DataStream<Total> totals = Windowed.tumbling(lanes);
        if (!order.reaches("sliding")) {
            publish(totals, new Outputs.Totals(out));
            return;
        }
        publish(Windowed.sliding(totals), new Outputs.Changes(out));
    }

    /** Every stage is keyed by location: one exchange serves all of them. */
    private void eager(DataStream<Reading> readings) {
        long keptS = Math.max(1, (order.number("state_kept_ms") + 999) / 1_000);
        DataStream<Lane> lanes =
                readings.keyBy(reading -> reading.location, Types.STRING)
                        .process(new Eager.Join(keptS))
                        .name("join");
        if (!order.reaches("tumbling")) {
            publish(lanes, new Outputs.Lanes(out));
            return;
        }
        DataStream<Total> totals =
                still(lanes, lane -> lane.location)
                        .process(new Eager.Tumbling(keptS))
                        .name("tumbling");
        if (!order.reaches("sliding")) {
            publish(totals, new Outputs.Totals(out));
            return;
        }
        publish(
                still(totals, total -> total.location)
                        .process(new Eager.Sliding(keptS))
                        .name("sliding"),
                new Outputs.Changes(out));
    }

    /** Rows that stand where their location is, as the stage before was keyed by it too. */
    private static <T> KeyedStream<T, String> still(
            DataStream<T> rows, KeySelector<T, String> key) {
        return DataStreamUtils.reinterpretAsKeyedStream(rows, key, Types.STRING);
    }

    private <T> void publish(DataStream<T> rows, KafkaRecordSerializationSchema<T> written) {
        rows.sinkTo(Outputs.sink(order, written)).name("publish");
    }
}
