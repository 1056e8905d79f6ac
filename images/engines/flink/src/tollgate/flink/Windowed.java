package tollgate.flink;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.FilterFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.triggers.EventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** The stages that emit when event time has passed their window's end. */
final class Windowed {
    private static final Duration SLOT = Duration.ofSeconds(1);

    private static final TypeInformation<Total> TOTAL = TypeInformation.of(Total.class);

    private Windowed() {}

    /** A lane: what flow and speed are joined by. */
    static final class OfLane implements KeySelector<Reading, Tuple2<String, String>> {
        @Override
        public Tuple2<String, String> getKey(Reading reading) {
            return Tuple2.of(reading.location, reading.lane);
        }

        static TypeInformation<Tuple2<String, String>> type() {
            return Types.TUPLE(Types.STRING, Types.STRING);
        }
    }

    /** Flow and speed of a lane and slot: as soon as both are in, or when the slot is over. */
    static DataStream<Lane> join(DataStream<Reading> readings, boolean whenOver) {
        DataStream<Reading> flows = readings.filter(new IsFlow(true));
        DataStream<Reading> speeds = readings.filter(new IsFlow(false));
        if (whenOver) {
            return flows.join(speeds)
                    .where(new OfLane(), OfLane.type())
                    .equalTo(new OfLane(), OfLane.type())
                    .window(TumblingEventTimeWindows.of(SLOT))
                    .apply(Lane::of, TypeInformation.of(Lane.class));
        }
        // event times of one slot are less than a second apart
        Duration reach = SLOT.minusMillis(1);
        return flows.keyBy(new OfLane(), OfLane.type())
                .intervalJoin(speeds.keyBy(new OfLane(), OfLane.type()))
                .between(reach.negated(), reach)
                .process(new SameSlot(), TypeInformation.of(Lane.class));
    }

    static SingleOutputStreamOperator<Total> tumbling(DataStream<Lane> lanes) {
        return lanes.keyBy(lane -> lane.location, Types.STRING)
                .window(TumblingEventTimeWindows.of(SLOT))
                .aggregate(new Sum(), TOTAL, TOTAL)
                .filter(Total::isWhole);
    }

    static SingleOutputStreamOperator<Change> sliding(DataStream<Total> totals) {
        return totals.keyBy(total -> total.location, Types.STRING)
                .window(new LookingBack())
                .process(new Since(), TypeInformation.of(Change.class));
    }

    static final class IsFlow implements FilterFunction<Reading> {
        private final boolean isFlow;

        IsFlow(boolean isFlow) {
            this.isFlow = isFlow;
        }

        @Override
        public boolean filter(Reading reading) {
            return reading.isFlow == isFlow;
        }
    }

    static final class SameSlot extends ProcessJoinFunction<Reading, Reading, Lane> {
        @Override
        public void processElement(
                Reading flow, Reading speed, Context context, Collector<Lane> out) {
            if (flow.second() == speed.second()) {
                out.collect(Lane.of(flow, speed));
            }
        }
    }

    static final class Sum implements AggregateFunction<Lane, Total, Total> {
        @Override
        public Total createAccumulator() {
            return new Total();
        }

        @Override
        public Total add(Lane lane, Total total) {
            total.add(lane);
            return total;
        }

        @Override
        public Total getResult(Total total) {
            return total;
        }

        @Override
        public Total merge(Total one, Total other) {
            throw new UnsupportedOperationException("tumbling windows never merge");
        }
    }

    /**
     * Windows of eleven seconds that slide by one, but for those in which a total is neither the
     * newest nor looked back at: it takes part in three of eleven.
     */
    static final class LookingBack extends WindowAssigner<Object, TimeWindow> {
        private static final long SLOT_MS = SLOT.toMillis();

        @Override
        public Collection<TimeWindow> assignWindows(
                Object total, long timestamp, WindowAssignerContext context) {
            long slot = Math.floorDiv(timestamp, SLOT_MS);
            return List.of(ending(slot), ending(slot + Change.SHORT), ending(slot + Change.LONG));
        }

        private static TimeWindow ending(long slot) {
            return new TimeWindow((slot - Change.LONG) * SLOT_MS, (slot + 1) * SLOT_MS);
        }

        @Override
        public Trigger<Object, TimeWindow> getDefaultTrigger() {
            return EventTimeTrigger.create();
        }

        @Override
        public TypeSerializer<TimeWindow> getWindowSerializer(
                org.apache.flink.api.common.ExecutionConfig config) {
            return new TimeWindow.Serializer();
        }

        @Override
        public boolean isEventTime() {
            return true;
        }
    }

    static final class Since extends ProcessWindowFunction<Total, Change, String, TimeWindow> {
        @Override
        public void process(
                String location, Context context, Iterable<Total> totals, Collector<Change> out) {
            long second = Math.floorDiv(context.window().maxTimestamp(), 1_000L);
            Total now = null;
            Total before = null;
            Total longBefore = null;
            for (Total total : totals) {
                if (total.second == second) {
                    now = total;
                } else if (total.second == second - Change.SHORT) {
                    before = total;
                } else if (total.second == second - Change.LONG) {
                    longBefore = total;
                }
            }
            if (now != null && before != null && longBefore != null) {
                out.collect(Change.of(now, before, longBefore));
            }
        }
    }
}
