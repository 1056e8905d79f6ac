package tollgate.flink;

/** What is told of a lane: the fields that a reading and a joined row share. A Flink POJO. */
public class Observed {
    public String location;
    public String lane;
    public double lat;
    public double lon;
    public long flow;
    public double speed;
    public long period;
    public long accuracy;
    public long numLanes;

    /** The record's key. */
    public String key() {
        return location + '/' + lane;
    }
}
