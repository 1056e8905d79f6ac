package tollgate.flink;

import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * The stages that emit the moment the last contributor is in, keyed by location.
 *
 * <p>State of a slot that never becomes whole goes when event time, the slowest partition's, is
 * {@code keptS} past it.
 */
final class Eager {
    private Eager() {}

    /** State by slot, which forgets what is too old whenever a new slot begins. */
    abstract static class BySlot<I, S, O> extends KeyedProcessFunction<String, I, O> {
        private final long keptS;
        private final TypeInformation<S> type;
        private transient MapState<Long, S> slots;

        BySlot(long keptS, TypeInformation<S> type) {
            this.keptS = keptS;
            this.type = type;
        }

        @Override
        public void open(OpenContext context) {
            slots =
                    getRuntimeContext()
                            .getMapState(new MapStateDescriptor<>("slots", Types.LONG, type));
        }

        S of(long second) throws Exception {
            return slots.get(second);
        }

        void keep(long second, S state, boolean isNew, Context context) throws Exception {
            if (isNew) {
                context.timerService().registerEventTimeTimer((second + 1 + keptS) * 1_000L);
            }
            slots.put(second, state);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<O> out)
                throws Exception {
            slots.remove(timestamp / 1_000L - 1 - keptS);
        }

        void forget(long second) throws Exception {
            slots.remove(second);
        }
    }

    /** Flow and speed of a lane and slot in one row. */
    static final class Join extends BySlot<Reading, Map<String, Reading>, Lane> {
        Join(long keptS) {
            super(keptS, Types.MAP(Types.STRING, TypeInformation.of(Reading.class)));
        }

        @Override
        public void processElement(Reading reading, Context context, Collector<Lane> out)
                throws Exception {
            long second = reading.second();
            Map<String, Reading> waiting = of(second);
            boolean isNew = waiting == null;
            if (isNew) {
                waiting = new HashMap<>();
            }
            Reading other = waiting.get(reading.lane);
            if (other == null || other.isFlow == reading.isFlow) {
                waiting.putIfAbsent(reading.lane, reading);
                keep(second, waiting, isNew, context);
                return;
            }
            waiting.remove(reading.lane);
            if (waiting.isEmpty()) {
                forget(second);
            } else {
                keep(second, waiting, false, context);
            }
            out.collect(reading.isFlow ? Lane.of(reading, other) : Lane.of(other, reading));
        }
    }

    /** Sum of flow and mean of speed over all lanes of a slot. */
    static final class Tumbling extends BySlot<Lane, Total, Total> {
        Tumbling(long keptS) {
            super(keptS, TypeInformation.of(Total.class));
        }

        @Override
        public void processElement(Lane lane, Context context, Collector<Total> out)
                throws Exception {
            Total total = of(lane.second);
            boolean isNew = total == null;
            if (isNew) {
                total = new Total();
            }
            total.add(lane);
            if (total.isWhole()) {
                forget(lane.second);
                out.collect(total);
            } else {
                keep(lane.second, total, isNew, context);
            }
        }
    }

    /** The changes against two earlier slots; an output is there when all three have come. */
    static final class Sliding extends BySlot<Total, Total, Change> {
        Sliding(long keptS) {
            super(keptS + Change.LONG, TypeInformation.of(Total.class));
        }

        @Override
        public void processElement(Total total, Context context, Collector<Change> out)
                throws Exception {
            keep(total.second, total, true, context);
            for (long later : new long[] {0, Change.SHORT, Change.LONG}) {
                long second = total.second + later;
                Total now = later == 0 ? total : of(second);
                Total before = now == null ? null : of(second - Change.SHORT);
                Total longBefore = before == null ? null : of(second - Change.LONG);
                if (longBefore != null) {
                    out.collect(Change.of(now, before, longBefore));
                }
            }
        }
    }
}
