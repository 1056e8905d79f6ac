package tollgate.flink;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Properties;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonFactory;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonGenerator;
import org.apache.kafka.clients.producer.ProducerRecord;

/** The Kafka sink, and how each stage's rows are written as records. */
final class Outputs {
    private Outputs() {}

    static <T> KafkaSink<T> sink(Order order, KafkaRecordSerializationSchema<T> written) {
        Properties client = new Properties();
        client.setProperty("linger.ms", Long.toString(order.number("linger_ms")));
        return KafkaSink.<T>builder()
                .setBootstrapServers(order.bootstrapServers())
                .setRecordSerializer(written)
                .setDeliveryGuarantee(DeliveryGuarantee.AT_LEAST_ONCE)
                .setKafkaProducerConfig(client)
                .build();
    }

    /** A record as it came. */
    static final class AsTheyCame implements KafkaRecordSerializationSchema<Passed> {
        private final String topic;

        AsTheyCame(String topic) {
            this.topic = topic;
        }

        @Override
        public ProducerRecord<byte[], byte[]> serialize(
                Passed row, KafkaSinkContext context, Long timestamp) {
            return new ProducerRecord<>(topic, row.key, row.value);
        }
    }

    /** Rows as JSON objects. */
    abstract static class AsJson<T> implements KafkaRecordSerializationSchema<T> {
        private static final JsonFactory JSON = new JsonFactory();
        private final String topic;
        private transient ByteArrayOutputStream bytes;

        AsJson(String topic) {
            this.topic = topic;
        }

        abstract String key(T row);

        abstract void write(T row, JsonGenerator json) throws IOException;

        @Override
        public ProducerRecord<byte[], byte[]> serialize(
                T row, KafkaSinkContext context, Long timestamp) {
            if (bytes == null) {
                bytes = new ByteArrayOutputStream(256);
            }
            bytes.reset();
            try (JsonGenerator json = JSON.createGenerator(bytes)) {
                json.writeStartObject();
                write(row, json);
                json.writeEndObject();
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
            byte[] key = key(row).getBytes(StandardCharsets.UTF_8);
            return new ProducerRecord<>(topic, key, bytes.toByteArray());
        }
    }

    static final class Readings extends AsJson<Reading> {
        Readings(String topic) {
            super(topic);
        }

        @Override
        String key(Reading row) {
            return row.key();
        }

        @Override
        void write(Reading row, JsonGenerator json) throws IOException {
            long second = row.second();
            long micros = row.eventUs - second * 1_000_000L;
            writePlace(row, instant(second, micros), json);
            if (row.isFlow) {
                json.writeNumberField("flow", row.flow);
                json.writeNumberField("period", row.period);
            } else {
                json.writeNumberField("speed", row.speed);
            }
            writeTrust(row, json);
        }
    }

    static final class Lanes extends AsJson<Lane> {
        Lanes(String topic) {
            super(topic);
        }

        @Override
        String key(Lane row) {
            return row.key();
        }

        @Override
        void write(Lane row, JsonGenerator json) throws IOException {
            writePlace(row, instant(row.second, 0), json);
            json.writeNumberField("flow", row.flow);
            json.writeNumberField("speed", row.speed);
            json.writeNumberField("period", row.period);
            writeTrust(row, json);
        }
    }

    static final class Totals extends AsJson<Total> {
        Totals(String topic) {
            super(topic);
        }

        @Override
        String key(Total row) {
            return row.location;
        }

        @Override
        void write(Total row, JsonGenerator json) throws IOException {
            writeTotal(row, json);
        }
    }

    static final class Changes extends AsJson<Change> {
        Changes(String topic) {
            super(topic);
        }

        @Override
        String key(Change row) {
            return row.now.location;
        }

        @Override
        void write(Change row, JsonGenerator json) throws IOException {
            writeTotal(row.now, json);
            writeChange("flow_change_short", row.flowShort, json);
            writeChange("flow_change_long", row.flowLong, json);
            writeChange("speed_change_short", row.speedShort, json);
            writeChange("speed_change_long", row.speedLong, json);
        }
    }

    private static void writePlace(Observed row, String timestamp, JsonGenerator json)
            throws IOException {
        json.writeStringField("location", row.location);
        json.writeStringField("lane", row.lane);
        json.writeStringField("timestamp", timestamp);
        json.writeNumberField("lat", row.lat);
        json.writeNumberField("long", row.lon);
    }

    private static void writeTrust(Observed row, JsonGenerator json) throws IOException {
        json.writeNumberField("accuracy", row.accuracy);
        json.writeNumberField("num_lanes", row.numLanes);
    }

    private static void writeTotal(Total row, JsonGenerator json) throws IOException {
        json.writeStringField("location", row.location);
        json.writeStringField("timestamp", instant(row.second, 0));
        json.writeNumberField("flow", row.flow);
        json.writeNumberField("speed", row.speed());
        json.writeNumberField("lanes", row.lanes);
    }

    private static void writeChange(String name, double change, JsonGenerator json)
            throws IOException {
        if (Double.isNaN(change)) {
            json.writeNullField(name);
        } else {
            json.writeNumberField(name, change);
        }
    }

    private static String instant(long second, long micros) {
        return Instant.ofEpochSecond(second, micros * 1_000L).toString();
    }
}
