// What Apache Storm's own nimbus makes of heartbeats and resources: asked by the test java_oracle, one request a line.
//
// A request is words between tabs; the answer is one line. Records are bare Thrift structs in hexadecimal, configurations
// are JSON, BEATS are a node, a port and a ClusterWorkerHeartbeat each. An exception that Storm throws is an answer,
// "exception" and its class and message between tabs.
//
//   page CONF TOPOLOGY ASSIGNMENT WINDOW SYSTEM BEATS...                -> TopologyPageInfo   StatsUtil.aggTopoExecsStats,
//                                                                          aggWorkerStats, and what Nimbus adds to it
//   component CONF TOPOLOGY ASSIGNMENT WINDOW SYSTEM COMPONENT BEATS... -> ComponentPageInfo  StatsUtil.aggCompExecsStats
//   resources CONF TOPOLOGY BASE ASSIGNMENT                             -> TopologySummary    TopologyResources
//   requests CONF TOPOLOGY                -> WorkerSummary for each component NormalizedResourceRequest

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import net.minidev.json.JSONValue;
import org.apache.storm.cluster.ClusterUtils;
import org.apache.storm.cluster.ExecutorBeat;
import org.apache.storm.cluster.IStormClusterState;
import org.apache.storm.daemon.StormCommon;
import org.apache.storm.daemon.nimbus.Nimbus;
import org.apache.storm.daemon.nimbus.TopologyResources;
import org.apache.storm.generated.Assignment;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ClusterWorkerHeartbeat;
import org.apache.storm.generated.ComponentPageInfo;
import org.apache.storm.generated.ExecutorInfo;
import org.apache.storm.generated.NodeInfo;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StormBase;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.TopologyPageInfo;
import org.apache.storm.generated.TopologySummary;
import org.apache.storm.generated.WorkerResources;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.normalization.NormalizedResourceRequest;
import org.apache.storm.stats.StatsUtil;
import org.apache.storm.thrift.TBase;
import org.apache.storm.thrift.TDeserializer;
import org.apache.storm.thrift.TSerializer;

public class StormOracle {
    private static final HexFormat HEX = HexFormat.of();
    private static Nimbus nimbus;

    public static void main(String[] arguments) throws Exception {
        // A nimbus that was never started: all that is asked of it is to decide.
        java.lang.reflect.Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        nimbus = (Nimbus) ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(Nimbus.class);
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = answer(line.split("\t", -1));
            } catch (Throwable error) {
                Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
                String message = String.valueOf(cause.getMessage()).replace('\n', ' ').replace('\t', ' ');
                answer = "exception\t" + cause.getClass().getSimpleName() + "\t" + message;
            }
            out.println(answer);
        }
        out.flush();
    }

    private static String answer(String[] request) throws Throwable {
        Map<String, Object> conf = conf(request[1]);
        StormTopology topology = read(new StormTopology(), request[2]);
        switch (request[0]) {
            case "page":
                return page(conf, topology, request);
            case "component":
                return component(conf, topology, request);
            case "resources":
                return resources(conf, topology, request);
            case "requests":
                return requests(conf, StormCommon.systemTopology(conf, topology));
            default:
                throw new IllegalArgumentException(request[0]);
        }
    }

    private static String page(Map<String, Object> conf, StormTopology topology, String[] request) throws Throwable {
        Assignment assignment = read(new Assignment(), request[3]);
        boolean includeSys = Boolean.parseBoolean(request[5]);
        Map<Integer, String> taskToComponent = StormCommon.stormTaskInfo(topology, conf);
        StormTopology system = StormCommon.systemTopology(conf, topology);
        Map<WorkerSlot, WorkerResources> resources = new HashMap<>();
        for (Map.Entry<NodeInfo, WorkerResources> entry : assignment.get_worker_resources().entrySet()) {
            NodeInfo node = entry.getKey();
            resources.put(new WorkerSlot(node.get_node(), node.get_port_iterator().next()), entry.getValue());
        }
        IStormClusterState state = (IStormClusterState) Proxy.newProxyInstance(StormOracle.class.getClassLoader(),
            new Class<?>[] {IStormClusterState.class}, (proxy, method, given) -> null);
        TopologyPageInfo page = StatsUtil.aggTopoExecsStats("words-1-1", placed(assignment, false), taskToComponent,
            beats(assignment, request, 6), system, request[4], includeSys, state);
        page.set_workers(StatsUtil.aggWorkerStats("words-1-1", "words", taskToComponent, beats(assignment, request, 6),
            placed(assignment, false), assignment.get_node_host(), resources, includeSys, true, null, "owner"));
        ask("addSpoutAggStats", new Class<?>[] {TopologyPageInfo.class, StormTopology.class, Map.class}, page, system, conf);
        ask("addBoltAggStats", new Class<?>[] {TopologyPageInfo.class, StormTopology.class, Map.class, boolean.class},
            page, system, conf, includeSys);
        return write(page);
    }

    private static String component(Map<String, Object> conf, StormTopology topology, String[] request) throws Exception {
        Assignment assignment = read(new Assignment(), request[3]);
        ComponentPageInfo page = StatsUtil.aggCompExecsStats(placed(assignment, true),
            StormCommon.stormTaskInfo(topology, conf), beats(assignment, request, 7), request[4],
            Boolean.parseBoolean(request[5]), "words-1-1", StormCommon.systemTopology(conf, topology), request[6]);
        return write(page);
    }

    private static String resources(Map<String, Object> conf, StormTopology topology, String[] request) throws Throwable {
        StormBase base = read(new StormBase(), request[3]);
        Map<Integer, String> taskToComponent = StormCommon.stormTaskInfo(topology, conf);
        List<?> executors = (List<?>) ask("computeExecutors",
            new Class<?>[] {StormBase.class, Map.class, StormTopology.class}, base, conf, topology);
        Map<ExecutorDetails, String> components = new HashMap<>();
        for (Object executor : executors) {
            int first = (Integer) ((List<?>) executor).get(0);
            components.put(new ExecutorDetails(first, (Integer) ((List<?>) executor).get(1)), taskToComponent.get(first));
        }
        TopologyDetails details = new TopologyDetails("words-1-1", conf, topology, 1, components, "owner");
        TopologyResources resources = new TopologyResources(details, read(new Assignment(), request[4]));
        TopologySummary summary = new TopologySummary("words-1-1", "words", 0, 0, 0, 0, "ACTIVE");
        summary.set_requested_memonheap(resources.getRequestedMemOnHeap());
        summary.set_requested_memoffheap(resources.getRequestedMemOffHeap());
        summary.set_requested_cpu(resources.getRequestedCpu());
        summary.set_requested_generic_resources(resources.getRequestedGenericResources());
        summary.set_assigned_memonheap(resources.getAssignedMemOnHeap());
        summary.set_assigned_memoffheap(resources.getAssignedMemOffHeap());
        summary.set_assigned_cpu(resources.getAssignedCpu());
        summary.set_assigned_generic_resources(resources.getAssignedGenericResources());
        return write(summary);
    }

    private static String requests(Map<String, Object> conf, StormTopology system) throws Exception {
        Map<String, NormalizedResourceRequest> all = new TreeMap<>();
        for (Map.Entry<String, Bolt> bolt : system.get_bolts().entrySet()) {
            all.put(bolt.getKey(), new NormalizedResourceRequest(bolt.getValue().get_common(), conf, bolt.getKey()));
        }
        for (Map.Entry<String, SpoutSpec> spout : system.get_spouts().entrySet()) {
            all.put(spout.getKey(), new NormalizedResourceRequest(spout.getValue().get_common(), conf, spout.getKey()));
        }
        List<String> answers = new ArrayList<>();
        for (Map.Entry<String, NormalizedResourceRequest> entry : all.entrySet()) {
            WorkerResources resources = new WorkerResources();
            resources.set_resources(entry.getValue().toNormalizedMap());
            answers.add(entry.getKey());
            answers.add(write(resources));
        }
        return String.join("\t", answers);
    }

    // Executors and their slots, by the node's id or by its host.
    private static Map<List<Long>, List<Object>> placed(Assignment assignment, boolean byHost) {
        Map<List<Long>, List<Object>> placed = new HashMap<>();
        for (Map.Entry<List<Long>, NodeInfo> entry : assignment.get_executor_node_port().entrySet()) {
            String node = entry.getValue().get_node();
            Object where = byHost ? assignment.get_node_host().get(node) : node;
            placed.put(entry.getKey(), Arrays.asList(where, entry.getValue().get_port_iterator().next()));
        }
        return placed;
    }

    private static Map<List<Integer>, Map<String, Object>> beats(Assignment assignment, String[] request, int at)
        throws Exception {
        Map<ExecutorInfo, ExecutorBeat> beats = new HashMap<>();
        for (; at + 2 < request.length; at += 3) {
            List<ExecutorInfo> executors = new ArrayList<>();
            for (Map.Entry<List<Long>, NodeInfo> entry : assignment.get_executor_node_port().entrySet()) {
                NodeInfo slot = entry.getValue();
                if (slot.get_node().equals(request[at]) && slot.get_port().contains(Long.valueOf(request[at + 1]))) {
                    List<Long> tasks = entry.getKey();
                    executors.add(new ExecutorInfo(tasks.get(0).intValue(), tasks.get(1).intValue()));
                }
            }
            beats.putAll(ClusterUtils.convertExecutorBeats(executors, read(new ClusterWorkerHeartbeat(), request[at + 2])));
        }
        return StatsUtil.convertExecutorBeats(beats);
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
