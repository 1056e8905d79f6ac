package tollgate.flink;

import java.util.Properties;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** The Kafka source: both kinds' topics from their earliest offset. */
final class Inputs {
    private Inputs() {}

    static <T> KafkaSource<T> source(Order order, KafkaRecordDeserializationSchema<T> records) {
        Properties client = new Properties();
        client.setProperty("client.id.prefix", order.runId());
        // the topics are there, and have all their partitions
        client.setProperty("partition.discovery.interval.ms", "-1");
        return KafkaSource.<T>builder()
                .setBootstrapServers(order.bootstrapServers())
                .setTopics(order.flowTopic(), order.speedTopic())
                .setGroupId(order.runId())
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setDeserializer(records)
                .setProperties(client)
                .build();
    }

    /** Records as they come. */
    static final class AsTheyCome implements KafkaRecordDeserializationSchema<Passed> {
        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Passed> out) {
            Passed passed = new Passed();
            passed.key = record.key();
            passed.value = record.value();
            out.collect(passed);
        }

        @Override
        public TypeInformation<Passed> getProducedType() {
            return TypeInformation.of(Passed.class);
        }
    }

    /** Well-formed records as readings; the others are skipped. */
    static final class Parsed implements KafkaRecordDeserializationSchema<Reading> {
        private final String flowTopic;
        private transient Records records;

        Parsed(String flowTopic) {
            this.flowTopic = flowTopic;
        }

        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Reading> out) {
            if (records == null) {
                records = new Records();
            }
            boolean isFlow = record.topic().equals(flowTopic);
            Reading reading = records.read(isFlow, record.key(), record.value());
            if (reading != null) {
                out.collect(reading);
            }
        }

        @Override
        public TypeInformation<Reading> getProducedType() {
            return TypeInformation.of(Reading.class);
        }
    }
}
