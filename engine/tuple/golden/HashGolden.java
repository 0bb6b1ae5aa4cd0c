// Prints golden values of the hashes that place keys, as Java and Storm compute them.
//
// To regenerate the table beside this file:   java HashGolden.java > hash_golden.txt
//
// Each line is a kind, numbers, and the input in JSON. A long is a JSON number; what JSON cannot tell apart is tagged:
// {"double": "<bits in hex>"}, {"bytes": "<hex>"}, {"map": [[key, value], ...]}.
//
//   fields  <hash>                     <values>   Arrays.deepHashCode of the values, as fields grouping computes it
//   choices <tasks> <first> <second>   <values>   partial-key grouping on fields
//   text    <tasks> <first> <second>   <value>    partial-key grouping without fields, on the first value's text
//
// Values of text lines: what has a text of its own in Java, so no arrays and no null. Doubles are
// those whose text has few digits: of others Java before 19 may write more than needed, and the table would depend on
// the version.

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

public final class HashGolden {
    public static void main(String[] arguments) {
        List<List<Object>> inputs = new ArrayList<>();
        List<Object> values = values();
        for (Object value : values) {
            inputs.add(Arrays.asList(value));
        }
        Random random = new Random(2026);
        for (int count = 0; count <= 5; count++) {
            for (int round = 0; round < 20; round++) {
                List<Object> several = new ArrayList<>();
                for (int index = 0; index < count; index++) {
                    several.add(values.get(random.nextInt(values.size())));
                }
                inputs.add(several);
            }
        }
        for (List<Object> input : inputs) {
            System.out.println("fields " + Arrays.deepHashCode(input.toArray()) + " " + json(input));
        }
        for (int tasks = 1; tasks <= 17; tasks++) {
            for (int round = 0; round < 12; round++) {
                List<Object> input = inputs.get(random.nextInt(inputs.size()));
                System.out.println("choices " + tasks + " " + choices(key(input), tasks) + " " + json(input));
                String text = text(random);
                byte[] key = text.getBytes(StandardCharsets.UTF_8);
                System.out.println("text " + tasks + " " + choices(key, tasks) + " " + json(text));
            }
        }
        // Large bounds, where the generator rejects often.
        for (int tasks : new int[] {1000, 65536, 1 << 30, (1 << 30) + 1, Integer.MAX_VALUE}) {
            for (int round = 0; round < 8; round++) {
                List<Object> input = inputs.get(random.nextInt(inputs.size()));
                System.out.println("choices " + tasks + " " + choices(key(input), tasks) + " " + json(input));
            }
        }
        for (Object first : firstValues()) {
            byte[] key = first.toString().getBytes(StandardCharsets.UTF_8);
            System.out.println("text 1009 " + choices(key, 1009) + " " + json(first));
        }
    }

    // First values for partial keys without fields.
    private static List<Object> firstValues() {
        Random random = new Random(11);
        List<Object> values = new ArrayList<>();
        for (long value : new long[] {0, 1, -1, 10, -10, Long.MAX_VALUE, Long.MIN_VALUE}) {
            values.add(value);
        }
        for (double value : new double[] {0, -0.0, 1, -1, 0.5, 100, 1e6, 9999999, 1e7, 1e-3, 9.99e-4, 1e21, 1e-10,
                Double.MAX_VALUE, Double.MIN_NORMAL, Double.MIN_VALUE, Double.NaN, Double.POSITIVE_INFINITY,
                Double.NEGATIVE_INFINITY}) {
            values.add(value);
        }
        for (int round = 0; round < 40; round++) {
            values.add(random.nextLong() >> random.nextInt(64));
        }
        for (int round = 0; round < 120; round++) {
            long digits = random.nextLong() % 1_000_000_000_000_000L / (long) Math.pow(10, random.nextInt(15));
            double value = Double.parseDouble(digits + "e" + (random.nextInt(60) - 40));
            if (Double.toString(value).replaceAll("E.*|[^0-9]", "").length() <= 15) {
                values.add(value);
            }
        }
        values.add(true);
        values.add(false);
        values.add(Arrays.asList());
        values.add(map());
        int plain = values.size();
        for (int round = 0; round < 40; round++) {
            List<Object> items = new ArrayList<>();
            for (int index = random.nextInt(4); index >= 0; index--) {
                items.add(index == 3 ? null : values.get(random.nextInt(values.size())));
            }
            Object first = items.get(0);
            values.add(round % 2 == 0 ? items : map("key", first, "", "text", "\u00fc", values.get(random.nextInt(plain))));
        }
        return values;
    }

    private static List<Object> values() {
        Random random = new Random(8);
        List<Object> values = new ArrayList<>(Arrays.asList(
            null, true, false,
            0L, 1L, -1L, 31L, 1L << 31, 1L << 32, -(1L << 32), Long.MAX_VALUE, Long.MIN_VALUE,
            0.0, -0.0, 1.0, 0.1, -0.1, 1e300, Double.MIN_VALUE, Double.MAX_VALUE,
            Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY,
            "", "a", "storm", "hello world", "key-1234567", "12345678", "123456789", "a somewhat longer ascii string",
            "\u0000\u007f", "\u00e9\u00e8", "stra\u00dfe", "\u96f7\u96e8", "\ud83d\ude00", "ascii and \ud83c\udf29 emoji",
            "\ud83d\udc68\u200d\ud83d\udc69\u200d\ud83d\udc67", "\uffff\ue000",
            new byte[] {}, new byte[] {0}, new byte[] {-1, 127, -128}, "some bytes, more than eight".getBytes(),
            list(), list((Object) null), list(1L, 2L, 3L), list("a", list("b", list(0.5, null))), list(list(list())),
            map(), map("key", 1L), map("a", 1L, "b", list(true, map("c", "\ud83d\ude00"))), list(map("k", null))));
        for (int index = 0; index < 60; index++) {
            values.add(random.nextLong());
            values.add(Double.longBitsToDouble(random.nextLong()));
            values.add(text(random));
            byte[] bytes = new byte[random.nextInt(40)];
            random.nextBytes(bytes);
            values.add(bytes);
        }
        return values;
    }

    private static String text(Random random) {
        int length = random.nextInt(40);
        boolean ascii = random.nextBoolean();
        StringBuilder text = new StringBuilder();
        for (int index = 0; index < length; index++) {
            int point = random.nextInt(ascii ? 0x80 : 0x110000);
            text.appendCodePoint(point >= 0xd800 && point < 0xe000 ? 0x1f329 : point);
        }
        return text.toString();
    }

    private static List<Object> list(Object... items) {
        return Arrays.asList(items);
    }

    private static Map<String, Object> map(Object... keysAndValues) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int index = 0; index < keysAndValues.length; index += 2) {
            map.put((String) keysAndValues[index], keysAndValues[index + 1]);
        }
        return map;
    }

    // The rules of Storm's PartialKeyGrouping: four bytes of hash for each value, lists and arrays deep.
    private static byte[] key(List<Object> values) {
        ByteBuffer key = ByteBuffer.allocate(4 * values.size());
        for (Object value : values) {
            if (value instanceof List) {
                key.putInt(Arrays.deepHashCode(((List<?>) value).toArray()));
            } else if (value instanceof byte[]) {
                key.putInt(Arrays.hashCode((byte[]) value));
            } else {
                key.putInt(value == null ? 0 : value.hashCode());
            }
        }
        return key.array();
    }

    private static String choices(byte[] key, int tasks) {
        Random random = new Random(Arrays.hashCode(key));
        int first = random.nextInt(tasks);
        int second = random.nextInt(tasks);
        return first + " " + (first == second ? (second + 1) % tasks : second);
    }

    private static String json(Object value) {
        if (value instanceof Double) {
            return "{\"double\": \"" + Long.toHexString(Double.doubleToRawLongBits((Double) value)) + "\"}";
        } else if (value instanceof byte[]) {
            StringBuilder hex = new StringBuilder();
            for (byte part : (byte[]) value) {
                hex.append(String.format("%02x", part));
            }
            return "{\"bytes\": \"" + hex + "\"}";
        } else if (value instanceof List) {
            List<String> items = new ArrayList<>();
            for (Object item : (List<?>) value) {
                items.add(json(item));
            }
            return "[" + String.join(", ", items) + "]";
        } else if (value instanceof Map) {
            List<String> entries = new ArrayList<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                entries.add("[" + json(entry.getKey()) + ", " + json(entry.getValue()) + "]");
            }
            return "{\"map\": [" + String.join(", ", entries) + "]}";
        } else if (value instanceof String) {
            StringBuilder text = new StringBuilder("\"");
            for (char unit : ((String) value).toCharArray()) {
                boolean plain = unit >= ' ' && unit < 0x7f && unit != '"' && unit != '\\';
                text.append(plain ? String.valueOf(unit) : String.format("\\u%04x", (int) unit));
            }
            return text.append('"').toString();
        }
        return String.valueOf(value);
    }
}
