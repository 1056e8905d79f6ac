package tollgate.flink;

/** A total, its relative changes since two earlier slots (NaN where those were 0). A Flink POJO. */
public class Change {
    /** How far back it looks, in slots. */
    public static final int SHORT = 5;
    public static final int LONG = 10;

    public Total now;
    public double flowShort;
    public double flowLong;
    public double speedShort;
    public double speedLong;

    public static Change of(Total now, Total before, Total longBefore) {
        Change change = new Change();
        change.now = now;
        change.flowShort = relative(now.flow, before.flow);
        change.flowLong = relative(now.flow, longBefore.flow);
        change.speedShort = relative(now.speed(), before.speed());
        change.speedLong = relative(now.speed(), longBefore.speed());
        return change;
    }

    private static double relative(double now, double then) {
        return then == 0 ? Double.NaN : (now - then) / then;
    }
}
