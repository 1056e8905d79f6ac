package tollgate.flink;

/** What a well-formed record says: one kind's observation of a lane. A Flink POJO. */
public class Reading {
    public String location;
    public String lane;
    public boolean isFlow;
    public long eventUs;
    public double lat;
    public double lon;
    public long flow;
    public double speed;
    public long period;
    public long accuracy;
    public long numLanes;

    /** The slot: the whole second of event time. */
    public long second() {
        return Math.floorDiv(eventUs, 1_000_000L);
    }

    public long eventMs() {
        return Math.floorDiv(eventUs, 1_000L);
    }
}
