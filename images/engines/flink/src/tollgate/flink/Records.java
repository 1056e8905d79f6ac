package tollgate.flink;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.LocalDate;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonFactory;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonParser;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonToken;

/** Reads records strictly: what is not exactly as the workload says is malformed, and null. */
final class Records {
    private final JsonFactory json = new JsonFactory();
    private String date = "";
    private long dateSecond;

    /** The observation that a record of this kind holds, or null. */
    Reading read(boolean isFlow, byte[] key, byte[] value) {
        if (key == null || value == null || !isObject(value)) {
            return null;
        }
        Reading reading = new Reading();
        reading.isFlow = isFlow;
        return hasPlace(reading, key) && hasFields(reading, value) ? reading : null;
    }

    /** Jackson would take other encodings than UTF-8, too. */
    private static boolean isObject(byte[] value) {
        int at = 0;
        while (at < value.length && isSpace(value[at])) {
            at++;
        }
        return at + 1 < value.length && value[at] == '{' && value[at + 1] != 0;
    }

    private static boolean isSpace(byte sign) {
        return sign == ' ' || sign == '\t' || sign == '\r' || sign == '\n';
    }

    private static boolean hasPlace(Reading reading, byte[] key) {
        int slash = -1;
        boolean ascii = true;
        for (int at = 0; at < key.length; at++) {
            if (key[at] == '/') {
                slash = at;
            }
            ascii &= key[at] >= 0;
        }
        if (slash < 1 || slash == key.length - 1 || !(ascii || isUtf8(key))) {
            return false;
        }
        reading.location = new String(key, 0, slash, StandardCharsets.UTF_8);
        reading.lane = new String(key, slash + 1, key.length - slash - 1, StandardCharsets.UTF_8);
        return true;
    }

    private static boolean isUtf8(byte[] key) {
        try {
            StandardCharsets.UTF_8
                    .newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(key));
            return true;
        } catch (CharacterCodingException error) {
            return false;
        }
    }

    private static final int ID = 1;
    private static final int LAT = 1 << 1;
    private static final int LON = 1 << 2;
    private static final int ACCURACY = 1 << 3;
    private static final int TIMESTAMP = 1 << 4;
    private static final int NUM_LANES = 1 << 5;
    private static final int FLOW = 1 << 6;
    private static final int PERIOD = 1 << 7;
    private static final int SPEED = 1 << 8;
    private static final int ALWAYS = ID | LAT | LON | ACCURACY | TIMESTAMP | NUM_LANES;

    private boolean hasFields(Reading reading, byte[] value) {
        int there = 0;
        try (JsonParser parser = json.createParser(value)) {
            parser.nextToken();
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String name = parser.currentName();
                JsonToken token = parser.nextToken();
                int field = fieldOf(name);
                // of a name that occurs twice the last counts
                there &= ~field;
                if (token == JsonToken.START_OBJECT || token == JsonToken.START_ARRAY) {
                    parser.skipChildren();
                } else if (field != 0 && take(reading, field, token, parser)) {
                    there |= field;
                }
            }
            if (parser.currentToken() != JsonToken.END_OBJECT || parser.nextToken() != null) {
                return false;
            }
        } catch (IOException malformed) {
            return false;
        }
        int wanted = ALWAYS | (reading.isFlow ? FLOW | PERIOD : SPEED);
        return (there & wanted) == wanted;
    }

    private static int fieldOf(String name) {
        return switch (name) {
            case "internalId" -> ID;
            case "lat" -> LAT;
            case "long" -> LON;
            case "accuracy" -> ACCURACY;
            case "timestamp" -> TIMESTAMP;
            case "num_lanes" -> NUM_LANES;
            case "flow" -> FLOW;
            case "period" -> PERIOD;
            case "speed" -> SPEED;
            default -> 0;
        };
    }

    /** Whether the value is of the field's type; it is kept where it is. */
    private boolean take(Reading reading, int field, JsonToken token, JsonParser parser)
            throws IOException {
        switch (field) {
            case ID:
                return token == JsonToken.VALUE_STRING;
            case TIMESTAMP:
                return token == JsonToken.VALUE_STRING && takeTimestamp(reading, parser.getText());
            case LAT:
            case LON:
            case SPEED:
                if (!token.isNumeric()) {
                    return false;
                }
                double number = parser.getDoubleValue();
                if (field == LAT) {
                    reading.lat = number;
                } else if (field == LON) {
                    reading.lon = number;
                } else {
                    reading.speed = number;
                }
                return Double.isFinite(number);
            default:
                if (token != JsonToken.VALUE_NUMBER_INT || !fits(parser)) {
                    return false;
                }
                takeWhole(reading, field, parser.getLongValue());
                return true;
        }
    }

    private static boolean fits(JsonParser parser) throws IOException {
        JsonParser.NumberType type = parser.getNumberType();
        return type == JsonParser.NumberType.INT || type == JsonParser.NumberType.LONG;
    }

    private static void takeWhole(Reading reading, int field, long whole) {
        switch (field) {
            case FLOW -> reading.flow = whole;
            case PERIOD -> reading.period = whole;
            case ACCURACY -> reading.accuracy = whole;
            default -> reading.numLanes = whole;
        }
    }

    /** `2026-01-05T07:00:17.437Z`, with no fraction or one of up to six digits. */
    private boolean takeTimestamp(Reading reading, String text) {
        int length = text.length();
        if (length < 20 || length == 21 || length > 27 || text.charAt(length - 1) != 'Z') {
            return false;
        }
        if (text.charAt(10) != 'T' || text.charAt(13) != ':' || text.charAt(16) != ':') {
            return false;
        }
        int hour = digits(text, 11, 13);
        int minute = digits(text, 14, 16);
        int second = digits(text, 17, 19);
        boolean inAnHour = minute >= 0 && minute < 60 && second >= 0 && second < 60;
        if (!(inAnHour && hour >= 0 && hour < 24 && isDate(text))) {
            return false;
        }
        int micros = 0;
        if (length > 20) {
            if (text.charAt(19) != '.') {
                return false;
            }
            micros = digits(text, 20, length - 1);
            for (int written = length - 21; written < 6; written++) {
                micros *= 10;
            }
        }
        reading.eventUs = (dateSecond + hour * 3600L + minute * 60L + second) * 1_000_000L + micros;
        return micros >= 0;
    }

    /** Whether it begins with a date; which one is kept for the next. */
    private boolean isDate(String text) {
        if (text.startsWith(date) && !date.isEmpty()) {
            return true;
        }
        int year = digits(text, 0, 4);
        int month = digits(text, 5, 7);
        int day = digits(text, 8, 10);
        if (year < 1 || month < 0 || day < 0 || text.charAt(4) != '-' || text.charAt(7) != '-') {
            return false;
        }
        try {
            dateSecond = LocalDate.of(year, month, day).toEpochDay() * 86_400L;
        } catch (DateTimeException noDay) {
            return false;
        }
        date = text.substring(0, 10);
        return true;
    }

    /** The number that these digits are; below 0 where one is none. */
    private static int digits(String text, int from, int to) {
        int number = 0;
        for (int at = from; at < to; at++) {
            int digit = text.charAt(at) - '0';
            if (digit < 0 || digit > 9) {
                return -1;
            }
            number = number * 10 + digit;
        }
        return number;
    }
}
