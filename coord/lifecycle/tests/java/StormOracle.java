// What Apache Storm's own nimbus makes of configurations, topologies and bases: asked by the test java_oracle, one request
// a line.
//
// A request is words between tabs; the answer is one line. Records are bare Thrift structs in hexadecimal, configurations
// are JSON. An exception that Storm throws is an answer, "exception" and its class and message between tabs.
//
//   conf DAEMON TOPOLOGY-CONF TOPOLOGY      -> JSON          Nimbus.normalizeConf
//   tasks CONF TOPOLOGY                     -> StormTopology Nimbus.normalizeTopology
//   values CONF                             -> ok            ConfigValidation.validateTopoConf
//   system CONF TOPOLOGY                    -> StormTopology StormCommon.systemTopology
//   executors CONF TOPOLOGY BASE            -> FIRST-LAST... Nimbus.computeExecutors
//   update BASE CHANGES                     -> StormBase     StormClusterStateImpl.updateStorm
//   transition BASE EVENT ARGUMENT          -> none          the table of transitions has no such entry
//                                           -> same|StormBase, and EVENT and SECONDS of what is delayed
//   name NAME                               -> ok            Utils.validateTopologyName
//   key KEY                                 -> true|false    Utils.isValidKey

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import net.minidev.json.JSONValue;
import org.apache.storm.StormTimer;
import org.apache.storm.cluster.ClusterStateContext;
import org.apache.storm.cluster.IStateStorage;
import org.apache.storm.cluster.StormClusterStateImpl;
import org.apache.storm.daemon.StormCommon;
import org.apache.storm.daemon.nimbus.Nimbus;
import org.apache.storm.daemon.nimbus.TopologyActions;
import org.apache.storm.generated.RebalanceOptions;
import org.apache.storm.generated.StormBase;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.thrift.TBase;
import org.apache.storm.thrift.TDeserializer;
import org.apache.storm.thrift.TSerializer;
import org.apache.storm.utils.Utils;
import org.apache.storm.validation.ConfigValidation;

public class StormOracle {
    private static final HexFormat HEX = HexFormat.of();
    private static Nimbus nimbus;
    private static String delayed;
    private static byte[] stored;

    public static void main(String[] arguments) throws Exception {
        nimbus = nimbus();
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = answer(line.split("\t", -1));
            } catch (Throwable error) {
                Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
                String message = String.valueOf(cause.getMessage());
                if (cause instanceof org.apache.storm.generated.InvalidTopologyException) {
                    message = ((org.apache.storm.generated.InvalidTopologyException) cause).get_msg();
                }
                answer = "exception\t" + cause.getClass().getSimpleName() + "\t" + message.replace('\n', ' ').replace('\t', ' ');
            }
            out.println(answer);
        }
        out.flush();
    }

    private static String answer(String[] request) throws Throwable {
        switch (request[0]) {
            case "conf":
                return JSONValue.toJSONString(ask("normalizeConf", new Class<?>[] {Map.class, Map.class, StormTopology.class},
                    conf(request[1]), conf(request[2]), read(new StormTopology(), request[3])));
            case "tasks":
                return write((TBase<?, ?>) ask("normalizeTopology", new Class<?>[] {Map.class, StormTopology.class},
                    conf(request[1]), read(new StormTopology(), request[2])));
            case "values":
                ConfigValidation.validateTopoConf(conf(request[1]));
                return "ok";
            case "system":
                return write(StormCommon.systemTopology(conf(request[1]), read(new StormTopology(), request[2])));
            case "executors":
                List<?> executors = (List<?>) ask("computeExecutors",
                    new Class<?>[] {StormBase.class, Map.class, StormTopology.class},
                    read(new StormBase(), request[3]), conf(request[1]), read(new StormTopology(), request[2]));
                TreeSet<String> shown = new TreeSet<>();
                for (Object executor : executors) {
                    shown.add(((List<?>) executor).get(0) + "-" + ((List<?>) executor).get(1));
                }
                return String.join("\t", shown);
            case "update":
                return update(read(new StormBase(), request[1]), read(new StormBase(), request[2]));
            case "transition":
                return transition(read(new StormBase(), request[1]), TopologyActions.valueOf(request[2]), request[3]);
            case "name":
                Utils.validateTopologyName(request[1]);
                return "ok";
            case "key":
                return String.valueOf(Utils.isValidKey(request[1]));
            default:
                throw new IllegalArgumentException(request[0]);
        }
    }

    private static String transition(StormBase base, TopologyActions event, String argument) throws Throwable {
        Field field = Nimbus.class.getDeclaredField("TOPO_STATE_TRANSITIONS");
        field.setAccessible(true);
        Object transition = ((Map<?, Map<?, ?>>) field.get(null)).get(base.get_status()).get(event);
        if (transition == null) {
            return "none";
        }
        Object options = null;
        if (event == TopologyActions.KILL) {
            options = Integer.valueOf(argument);
        } else if (event == TopologyActions.REBALANCE) {
            options = read(new RebalanceOptions(), argument);
        }
        delayed = "";
        Method method = Class.forName("org.apache.storm.daemon.nimbus.TopologyStateTransition").getDeclaredMethods()[0];
        method.setAccessible(true);
        StormBase changes = (StormBase) method.invoke(transition, options, nimbus, "words-1-1", base);
        return (changes == null ? "same" : update(base, changes)) + delayed;
    }

    private static String update(StormBase base, StormBase changes) throws Exception {
        stored = Utils.serialize(base);
        IStateStorage storage = (IStateStorage) Proxy.newProxyInstance(StormOracle.class.getClassLoader(),
            new Class<?>[] {IStateStorage.class}, (proxy, method, given) -> {
                switch (method.getName()) {
                    case "get_data":
                        return stored;
                    case "set_data":
                        stored = (byte[]) given[1];
                        return null;
                    default:
                        return null;
                }
            });
        new StormClusterStateImpl(storage, null, new ClusterStateContext(), false).updateStorm("words-1-1", changes);
        return write(Utils.deserialize(stored, StormBase.class));
    }

    // A nimbus that was never started: all that is asked of it is to decide, and to note what it would do later.
    private static Nimbus nimbus() throws Exception {
        Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        Nimbus nimbus = (Nimbus) ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(Nimbus.class);
        StormTimer timer = new StormTimer("oracle", (thread, error) -> { }) {
            @Override
            public void schedule(int delaySecs, Runnable function) {
                delayed += "\t" + delaySecs;
            }
        };
        timer.close();
        Field field = Nimbus.class.getDeclaredField("timer");
        field.setAccessible(true);
        field.set(nimbus, timer);
        return nimbus;
    }

    private static Object ask(String name, Class<?>[] types, Object... given) throws Throwable {
        Method method = Nimbus.class.getDeclaredMethod(name, types);
        method.setAccessible(true);
        return method.invoke(nimbus, given);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> conf(String json) throws Exception {
        return (Map<String, Object>) JSONValue.parseWithException(json);
    }

    private static <T extends TBase<?, ?>> T read(T record, String hex) throws Exception {
        new TDeserializer().deserialize(record, HEX.parseHex(hex));
        return record;
    }

    private static String write(TBase<?, ?> record) throws Exception {
        return HEX.formatHex(new TSerializer().serialize(record));
    }
}
