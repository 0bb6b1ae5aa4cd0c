// What Apache Storm's own classes say about bytes and names: asked by the test java_oracle, one request a line.
//
// A request is words between tabs; the answer is one line. An exception ends the program.

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.cluster.ClusterUtils;
import org.apache.storm.generated.ProfileAction;
import org.apache.storm.generated.WorkerTokenServiceType;
import org.apache.storm.nimbus.NimbusInfo;
import org.apache.storm.serialization.GzipThriftSerializationDelegate;
import org.apache.storm.thrift.TBase;
import org.apache.storm.thrift.TEnum;
import org.apache.storm.thrift.TFieldIdEnum;
import org.apache.storm.thrift.TFieldRequirementType;
import org.apache.storm.thrift.TUnion;
import org.apache.storm.thrift.meta_data.EnumMetaData;
import org.apache.storm.thrift.meta_data.FieldMetaData;
import org.apache.storm.thrift.meta_data.FieldValueMetaData;
import org.apache.storm.thrift.meta_data.ListMetaData;
import org.apache.storm.thrift.meta_data.MapMetaData;
import org.apache.storm.thrift.meta_data.SetMetaData;
import org.apache.storm.thrift.meta_data.StructMetaData;
import org.apache.storm.thrift.protocol.TBinaryProtocol;
import org.apache.storm.thrift.protocol.TMessage;
import org.apache.storm.thrift.protocol.TType;
import org.apache.storm.thrift.transport.TMemoryInputTransport;

@SuppressWarnings({"unchecked", "rawtypes"})
public class StormOracle {
    private static final GzipThriftSerializationDelegate DELEGATE = new GzipThriftSerializationDelegate();
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(line.split("\t", -1)));
        }
        out.flush();
    }

    private static String answer(String[] request) throws Exception {
        switch (request[0]) {
            case "schema":
                return schema(generated(request[1]));
            case "enumeration":
                return enumeration(generated(request[1]));
            case "read":
                // What lies in a znode, as Storm reads it.
                return json((TBase) DELEGATE.deserialize(HEX.parseHex(request[2]), generated(request[1])));
            case "rewrite":
                return HEX.formatHex(DELEGATE.serialize(DELEGATE.deserialize(HEX.parseHex(request[2]), generated(request[1]))));
            case "message":
                return message(request[1], HEX.parseHex(request[2]));
            case "nimbusInfo":
                return nimbusInfo(HEX.parseHex(request[1]));
            case "address":
                return NimbusInfo.parse(request[1]).toHostPortString();
            case "path":
                return path(request);
            default:
                throw new IllegalArgumentException(request[0]);
        }
    }

    private static Class generated(String name) throws Exception {
        Class found = Class.forName("org.apache.storm.generated." + name);
        return found;
    }

    // ---- Definitions ----

    private static String schema(Class of) throws Exception {
        Map<Short, String> fields = new TreeMap<>();
        for (Object entry : FieldMetaData.getStructMetaDataMap(of).entrySet()) {
            TFieldIdEnum id = (TFieldIdEnum) ((Map.Entry) entry).getKey();
            FieldMetaData field = (FieldMetaData) ((Map.Entry) entry).getValue();
            boolean isRequired = field.requirementType == TFieldRequirementType.REQUIRED;
            fields.put(id.getThriftFieldId(),
                id.getThriftFieldId() + " " + (isRequired ? "required " : "") + type(field.valueMetaData) + " " + field.fieldName);
        }
        return (TUnion.class.isAssignableFrom(of) ? "union" : "struct") + " {" + String.join(", ", fields.values()) + "}";
    }

    private static String type(FieldValueMetaData of) {
        switch (of.type) {
            case TType.BOOL: return "bool";
            case TType.BYTE: return "byte";
            case TType.I16: return "i16";
            case TType.I32: return of instanceof EnumMetaData ? ((EnumMetaData) of).enumClass.getSimpleName() : "i32";
            case TType.I64: return "i64";
            case TType.DOUBLE: return "double";
            case TType.STRING: return of.isBinary() ? "binary" : "string";
            case TType.STRUCT: return ((StructMetaData) of).structClass.getSimpleName();
            case TType.LIST: return "list<" + type(((ListMetaData) of).elemMetaData) + ">";
            case TType.SET: return "set<" + type(((SetMetaData) of).elemMetaData) + ">";
            case TType.MAP:
                return "map<" + type(((MapMetaData) of).keyMetaData) + "," + type(((MapMetaData) of).valueMetaData) + ">";
            case TType.ENUM: return ((EnumMetaData) of).enumClass.getSimpleName();
            default: return "type " + of.type;
        }
    }

    private static String enumeration(Class of) {
        Map<Integer, String> values = new TreeMap<>();
        for (Object value : of.getEnumConstants()) {
            values.put(((TEnum) value).getValue(), value.toString());
        }
        return values.toString();
    }

    // ---- Values ----

    private static String json(TBase record) throws Exception {
        Map<Short, String> fields = new TreeMap<>();
        for (Object entry : FieldMetaData.getStructMetaDataMap(record.getClass()).entrySet()) {
            TFieldIdEnum id = (TFieldIdEnum) ((Map.Entry) entry).getKey();
            FieldMetaData field = (FieldMetaData) ((Map.Entry) entry).getValue();
            if (record.isSet(id)) {
                fields.put(id.getThriftFieldId(), text(field.fieldName) + ":" + json(record.getFieldValue(id)));
            }
        }
        return "{" + String.join(",", fields.values()) + "}";
    }

    private static String json(Object value) throws Exception {
        if (value instanceof TBase) {
            return json((TBase) value);
        }
        if (value instanceof Number || value instanceof Boolean) {
            return value.toString();
        }
        if (value instanceof byte[]) {
            return text(Base64.getEncoder().encodeToString((byte[]) value));
        }
        if (value instanceof ByteBuffer) {
            ByteBuffer copy = ((ByteBuffer) value).duplicate();
            byte[] bytes = new byte[copy.remaining()];
            copy.get(bytes);
            return text(Base64.getEncoder().encodeToString(bytes));
        }
        if (value instanceof Collection) {
            List<String> elements = new ArrayList<>();
            for (Object element : (Collection) value) {
                elements.add(json(element));
            }
            return "[" + String.join(",", elements) + "]";
        }
        if (value instanceof Map) {
            boolean isObject = ((Map) value).keySet().stream().allMatch(key -> key instanceof String);
            List<String> pairs = new ArrayList<>();
            for (Object entry : ((Map) value).entrySet()) {
                String key = json(((Map.Entry) entry).getKey());
                String of = json(((Map.Entry) entry).getValue());
                pairs.add(isObject ? key + ":" + of : "{\"key\":" + key + ",\"value\":" + of + "}");
            }
            String all = String.join(",", pairs);
            return isObject ? "{" + all + "}" : "[" + all + "]";
        }
        // Texts, and the names of enumerations.
        return text(value.toString());
    }

    private static String text(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char character : text.toCharArray()) {
            if (character == '"' || character == '\\' || character < ' ') {
                quoted.append(String.format("\\u%04x", (int) character));
            } else {
                quoted.append(character);
            }
        }
        return quoted.append('"').toString();
    }

    // ---- Everything else ----

    private static String message(String structName, byte[] bytes) throws Exception {
        TBinaryProtocol protocol = new TBinaryProtocol(new TMemoryInputTransport(bytes), true, true);
        TMessage head = protocol.readMessageBegin();
        TBase body = (TBase) generated(structName).getDeclaredConstructor().newInstance();
        body.read(protocol);
        protocol.readMessageEnd();
        return head.name + " " + head.type + " " + head.seqid + " " + json(body);
    }

    private static String nimbusInfo(byte[] bytes) throws Exception {
        NimbusInfo info = (NimbusInfo) new ObjectInputStream(new ByteArrayInputStream(bytes)).readObject();
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        try (ObjectOutputStream output = new ObjectOutputStream(written)) {
            output.writeObject(info);
        }
        return info.toHostPortString() + " " + info.isLeader() + " " + HEX.formatHex(written.toByteArray());
    }

    /** The path that a method of ClusterUtils makes of its arguments. */
    private static String path(String[] request) throws Exception {
        int count = request.length - 2;
        for (Method method : ClusterUtils.class.getMethods()) {
            if (method.getName().equals(request[1]) && method.getParameterCount() == count) {
                Object[] arguments = new Object[count];
                for (int index = 0; index < count; index++) {
                    arguments[index] = argument(method.getParameterTypes()[index], request[index + 2]);
                }
                return (String) method.invoke(null, arguments);
            }
        }
        throw new IllegalArgumentException(request[1]);
    }

    private static Object argument(Class type, String text) {
        if (type == Long.class || type == long.class) {
            return Long.parseLong(text);
        }
        if (type == ProfileAction.class) {
            return ProfileAction.valueOf(text);
        }
        if (type == WorkerTokenServiceType.class) {
            return WorkerTokenServiceType.valueOf(text);
        }
        return text;
    }
}
