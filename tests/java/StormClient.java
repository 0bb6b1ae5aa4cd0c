import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.storm.generated.*;
import org.apache.storm.shade.net.minidev.json.JSONValue;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.utils.NimbusClient;
import org.apache.storm.utils.Utils;

/**
 * Storm's own client, led by lines of standard input: a word of what to do, and its arguments. Answers each with a line:
 * "ok" and what it got, or the name of the exception and its text.
 */
public class StormClient {
    private static Nimbus.Iface nimbus;

    public static void main(String[] arguments) throws Exception {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            System.out.println(answer(line.split(" ")).replace('\n', ' '));
            System.out.flush();
        }
        System.exit(0);
    }

    private static String answer(String[] words) {
        try {
            return "ok " + run(words);
        } catch (Throwable problem) {
            return problem.getClass().getSimpleName() + " " + text(problem);
        }
    }

    private static String text(Throwable problem) {
        if (problem instanceof NotAliveException it) return it.get_msg();
        if (problem instanceof AlreadyAliveException it) return it.get_msg();
        if (problem instanceof InvalidTopologyException it) return it.get_msg();
        if (problem instanceof KeyNotFoundException it) return it.get_msg();
        return String.valueOf(problem.getMessage());
    }

    private static String run(String[] words) throws Exception {
        switch (words[0]) {
            case "connect" -> {
                Map<String, Object> conf = Utils.readDefaultConfig();
                conf.put("nimbus.seeds", List.of("127.0.0.1"));
                conf.put("nimbus.thrift.port", Integer.parseInt(words[1]));
                nimbus = NimbusClient.Builder.withConf(conf).build().getClient();
                return "";
            }
            case "list" -> {
                return nimbus.getTopologySummaries().stream()
                        .map(topology -> topology.get_name() + "=" + topology.get_status()
                                + "/" + topology.get_num_workers() + "/" + topology.get_num_executors())
                        .collect(Collectors.joining(","));
            }
            case "allowed" -> {
                return String.valueOf(nimbus.isTopologyNameAllowed(words[1]));
            }
            case "activate" -> nimbus.activate(words[1]);
            case "deactivate" -> nimbus.deactivate(words[1]);
            case "rebalance" -> {
                var options = new RebalanceOptions();
                options.set_wait_secs(1);
                options.set_num_workers(Integer.parseInt(words[2]));
                nimbus.rebalance(words[1], options);
            }
            case "kill" -> {
                var options = new KillOptions();
                options.set_wait_secs(1);
                nimbus.killTopologyWithOpts(words[1], options);
            }
            case "submit" -> submit(words[1]);
            case "reads" -> {
                return reads(words[1]);
            }
            default -> throw new IllegalArgumentException(words[0]);
        }
        return "";
    }

    /** A topology in Java, with a jar that is none. */
    private static void submit(String name) throws Exception {
        var builder = new TopologyBuilder();
        builder.setSpout("words", new org.apache.storm.testing.TestWordSpout(), 1);
        builder.setBolt("null", new NullBolt(), 1).shuffleGrouping("words");
        Map<String, Object> conf = new HashMap<>(Utils.readDefaultConfig());
        conf.put("topology.workers", 1);
        String location = nimbus.beginFileUpload();
        nimbus.uploadChunk(location, ByteBuffer.wrap(new byte[] {'P', 'K', 3, 4, 0, 0}));
        nimbus.finishFileUpload(location);
        nimbus.submitTopology(name, location, JSONValue.toJSONString(conf), builder.createTopology());
    }

    /** Every read method, and something of what it answers. */
    private static String reads(String name) throws Exception {
        var answers = new java.util.ArrayList<String>();
        var leader = nimbus.getLeader();
        answers.add("leader=" + leader.is_isLeader());
        ClusterSummary cluster = nimbus.getClusterInfo();
        answers.add("cluster=" + cluster.get_supervisors_size() + "/" + cluster.get_topologies_size() + "/" + cluster.get_nimbuses_size());
        answers.add("nimbusConf=" + ((Map<?, ?>) JSONValue.parse(nimbus.getNimbusConf())).containsKey("storm.zookeeper.root"));
        TopologySummary summary = nimbus.getTopologySummaryByName(name);
        String id = summary.get_id();
        answers.add("summary=" + nimbus.getTopologySummary(id).get_name());
        var options = new GetInfoOptions();
        options.set_num_err_choice(NumErrorsChoice.ONE);
        answers.add("info=" + nimbus.getTopologyInfo(id).get_executors_size()
                + "/" + nimbus.getTopologyInfoByName(name).get_executors_size()
                + "/" + nimbus.getTopologyInfoWithOpts(id, options).get_executors_size()
                + "/" + nimbus.getTopologyInfoByNameWithOpts(name, options).get_executors_size());
        TopologyPageInfo page = nimbus.getTopologyPageInfo(id, ":all-time", false);
        answers.add("page=" + new TreeSet<>(page.get_id_to_spout_agg_stats().keySet())
                + new TreeSet<>(page.get_id_to_bolt_agg_stats().keySet()));
        String spout = page.get_id_to_spout_agg_stats().keySet().iterator().next();
        String bolt = page.get_id_to_bolt_agg_stats().keySet().iterator().next();
        answers.add("component=" + nimbus.getComponentPageInfo(id, spout, ":all-time", false).get_component_type()
                + "/" + nimbus.getComponentPageInfo(id, bolt, "600", true).get_component_type());
        String supervisor = cluster.get_supervisors().get(0).get_supervisor_id();
        answers.add("supervisor=" + nimbus.getSupervisorPageInfo(supervisor, null, true).get_supervisor_summaries_size());
        answers.add("assignments=" + nimbus.getSupervisorAssignments(supervisor).is_set_storm_assignment());
        Map<?, ?> conf = (Map<?, ?>) JSONValue.parse(nimbus.getTopologyConf(id));
        answers.add("conf=" + conf.get("topology.name") + "/" + conf.get("storm.id").equals(id));
        answers.add("topology=" + nimbus.getTopology(id).get_bolts().containsKey("__acker")
                + "/" + nimbus.getUserTopology(id).get_bolts().containsKey("__acker"));
        answers.add("history=" + nimbus.getTopologyHistory(System.getProperty("user.name")).is_set_topo_ids());
        answers.add("owners=" + (nimbus.getOwnerResourceSummaries(null).size() > 0));
        answers.add("logConfig=" + (nimbus.getLogConfig(id) != null));
        answers.add("profiles=" + nimbus.getComponentPendingProfileActions(id, spout, ProfileAction.JSTACK_DUMP).size());
        String blob = id + "-stormcode.ser";
        answers.add("blobs=" + nimbus.listBlobs("").get_keys().contains(blob) + "/" + nimbus.isRemoteBlobExists(blob));
        answers.add("blob=" + (nimbus.getBlobMeta(blob).get_version() > 0) + "/" + nimbus.getBlobReplication(blob));
        BeginDownloadResult download = nimbus.beginBlobDownload(blob);
        answers.add("download=" + (nimbus.downloadBlobChunk(download.get_session()).remaining() == download.get_data_size()));
        return String.join(" ", answers);
    }

    static class NullBolt extends BaseRichBolt {
        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {}

        @Override
        public void execute(Tuple input) {}

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {}
    }
}
