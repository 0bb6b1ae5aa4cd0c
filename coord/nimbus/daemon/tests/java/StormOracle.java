import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.generated.GetInfoOptions;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.generated.LogConfig;
import org.apache.storm.generated.LogLevel;
import org.apache.storm.generated.LogLevelAction;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.generated.NumErrorsChoice;
import org.apache.storm.generated.ProfileAction;
import org.apache.storm.generated.RebalanceOptions;
import org.apache.storm.generated.TopologySummary;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.utils.NimbusClient;

/** Storm's own client. Each line asks for one thing: the port of a nimbus, and words; each answer is one line. */
public class StormOracle {
    /** A spout as Storm knows it: an object of Java. */
    public static class JavaSpout extends BaseRichSpout {
        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        }

        @Override
        public void nextTuple() {
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            Map<String, Object> conf = Map.of(
                Config.NIMBUS_SEEDS, List.of("127.0.0.1"),
                Config.NIMBUS_THRIFT_PORT, Integer.parseInt(words[0]));
            String answer;
            try (NimbusClient client = NimbusClient.Builder.withConf(conf).build()) {
                answer = ask(client.getClient(), words[1], words.length > 2 ? words[2] : "");
            } catch (Exception error) {
                answer = error.getClass().getSimpleName() + ": " + message(error);
            }
            System.out.println(answer.replace('\n', '|'));
        }
    }

    private static String message(Exception error) throws Exception {
        try {
            return (String) error.getClass().getMethod("get_msg").invoke(error);
        } catch (NoSuchMethodException none) {
            return String.valueOf(error.getMessage());
        }
    }

    private static String ask(Nimbus.Iface nimbus, String what, String of) throws Exception {
        switch (what) {
            case "list": {
                StringBuilder found = new StringBuilder();
                for (TopologySummary topology : nimbus.getTopologySummaries()) {
                    found.append(topology.get_name()).append(' ').append(topology.get_status()).append(';');
                }
                return found.toString();
            }
            case "allowed":
                return String.valueOf(nimbus.isTopologyNameAllowed(of));
            case "activate":
                nimbus.activate(of);
                return "done";
            case "deactivate":
                nimbus.deactivate(of);
                return "done";
            case "rebalance": {
                RebalanceOptions options = new RebalanceOptions();
                options.set_wait_secs(0);
                options.set_num_workers(1);
                nimbus.rebalance(of, options);
                return "done";
            }
            case "kill": {
                KillOptions options = new KillOptions();
                options.set_wait_secs(0);
                nimbus.killTopologyWithOpts(of, options);
                return "done";
            }
            case "levels": {
                LogLevel level = new LogLevel(LogLevelAction.UPDATE);
                level.set_target_log_level("DEBUG");
                LogConfig levels = new LogConfig();
                levels.put_to_named_logger_level("peer", level);
                String id = nimbus.getTopologySummaryByName(of).get_id();
                nimbus.setLogConfig(id, levels);
                return nimbus.getLogConfig(id).get_named_logger_level().keySet().toString();
            }
            case "submit": {
                // As StormSubmitter does, but for its own look at the name.
                String location = nimbus.beginFileUpload();
                nimbus.uploadChunk(location, ByteBuffer.wrap(new byte[] {'P', 'K', 3, 4, 0, 0}));
                nimbus.finishFileUpload(location);
                TopologyBuilder builder = new TopologyBuilder();
                builder.setSpout("words", new JavaSpout(), 1);
                nimbus.submitTopology(of, location, "{}", builder.createTopology());
                return "done";
            }
            case "reads":
                return reads(nimbus, of);
            default:
                throw new IllegalArgumentException(what);
        }
    }

    /** Every method that only reads. */
    private static String reads(Nimbus.Iface nimbus, String name) throws Exception {
        String id = nimbus.getTopologySummaryByName(name).get_id();
        GetInfoOptions one = new GetInfoOptions();
        one.set_num_err_choice(NumErrorsChoice.ONE);
        Object[] read = {
            nimbus.getLeader(), nimbus.getClusterInfo(), nimbus.getNimbusConf(), nimbus.getTopologySummaries(),
            nimbus.getTopologySummary(id), nimbus.getTopologyInfo(id), nimbus.getTopologyInfoByName(name),
            nimbus.getTopologyInfoWithOpts(id, one), nimbus.getTopologyInfoByNameWithOpts(name, one),
            nimbus.getTopologyPageInfo(id, ":all-time", true),
            nimbus.getComponentPageInfo(id, "count", ":all-time", true), nimbus.getTopologyConf(id),
            nimbus.getTopology(id), nimbus.getUserTopology(id), nimbus.getTopologyHistory("somebody"),
            nimbus.getOwnerResourceSummaries(null), nimbus.getLogConfig(id),
            nimbus.getComponentPendingProfileActions(id, "count", ProfileAction.JSTACK_DUMP), nimbus.listBlobs(""),
            nimbus.getBlobMeta(id + "-stormconf.ser"), nimbus.beginBlobDownload(id + "-stormjar.jar"),
            nimbus.getBlobReplication(id + "-stormjar.jar"), nimbus.isRemoteBlobExists(id + "-stormjar.jar"),
            nimbus.getSupervisorAssignments("nobody"),
        };
        return read.length + " " + nimbus.getUserTopology(id).get_bolts().keySet();
    }
}
