package tollgate.flink;

/** Flow and speed of a lane in a slot: what the join makes. A Flink POJO. */
public class Lane extends Observed {
    public long second;

    public static Lane of(Reading flow, Reading speed) {
        Lane lane = new Lane();
        lane.location = flow.location;
        lane.lane = flow.lane;
        lane.second = flow.second();
        lane.lat = flow.lat;
        lane.lon = flow.lon;
        lane.flow = flow.flow;
        lane.speed = speed.speed;
        lane.period = flow.period;
        lane.accuracy = Math.min(flow.accuracy, speed.accuracy);
        lane.numLanes = flow.numLanes;
        return lane;
    }
}
