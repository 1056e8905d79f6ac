package tollgate.flink;

/** What a well-formed record says: one kind's observation of a lane. A Flink POJO. */
public class Reading extends Observed {
    public boolean isFlow;
    public long eventUs;

    /** The slot: the whole second of event time. */
    public long second() {
        return Math.floorDiv(eventUs, 1_000_000L);
    }

    public long eventMs() {
        return Math.floorDiv(eventUs, 1_000L);
    }
}
