package tollgate.flink;

/** A record as it came, which ingest passes on: both parts may be null. A Flink POJO. */
public class Passed {
    public byte[] key;
    public byte[] value;
}
