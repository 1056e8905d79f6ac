package tollgate.flink;

/** Sums over the lanes of a location in a slot; whole once every lane is in. A Flink POJO. */
public class Total {
    public String location;
    public long second;
    public long flow;
    public double speedSum;
    public long lanes;
    public long numLanes;

    public void add(Lane lane) {
        location = lane.location;
        second = lane.second;
        flow += lane.flow;
        speedSum += lane.speed;
        lanes += 1;
        numLanes = Math.max(numLanes, lane.numLanes);
    }

    public boolean isWhole() {
        return lanes == numLanes;
    }

    public double speed() {
        return speedSum / lanes;
    }
}
