// What Apache Storm's own schedulers decide: asked by the test java_oracle, one request a line.
//
// A request is words between tabs; the answer is one line. An exception of a scheduler is an answer, any other ends the
// program. Texts in requests hold none of the characters that divide them.
//
//   sort  NODE:PORT ...
//       -> NODE:PORT ...                       the slots in the order of EvenScheduler.sortSlots
//   SCHEDULER  supervisor=ID;HOST;PORT,...  blacklisted=HOST  topology=ID;WORKERS;FIRST-LAST,...;FIRST-LAST@NODE:PORT,...
//       -> order=ID                            topologies in the order in which Storm goes through them
//          freed=ID;NODE:PORT,...              bad slots, for each topology with some
//          result=ID;FIRST-LAST@NODE:PORT,...  for each topology
//          exception=CLASS                     instead of a result

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.storm.daemon.nimbus.Nimbus;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.EvenScheduler;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SchedulerAssignmentImpl;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.normalization.ResourceMetrics;

public class StormOracle {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(line.split("\t", -1)));
        }
        out.flush();
    }

    private static String answer(String[] request) {
        switch (request[0]) {
            case "sort":
                List<WorkerSlot> slots = new ArrayList<>();
                for (int index = 1; index < request.length; index++) {
                    slots.add(slot(request[index]));
                }
                return EvenScheduler.sortSlots(slots).stream().map(WorkerSlot::getId).collect(Collectors.joining("\t"));
            case "even":
                return schedule(new EvenScheduler(), request);
            case "default":
                return schedule(new DefaultScheduler(), request);
            default:
                throw new IllegalArgumentException(request[0]);
        }
    }

    private static String schedule(IScheduler scheduler, String[] request) {
        Map<String, SupervisorDetails> supervisors = new HashMap<>();
        Set<String> blacklistedHosts = new HashSet<>();
        Map<String, TopologyDetails> details = new HashMap<>();
        Map<String, Map<ExecutorDetails, WorkerSlot>> existing = new HashMap<>();
        for (int index = 1; index < request.length; index++) {
            String[] parts = request[index].substring(request[index].indexOf('=') + 1).split(";", -1);
            switch (request[index].substring(0, request[index].indexOf('='))) {
                case "supervisor":
                    List<Integer> ports = list(parts[2]).stream().map(Integer::parseInt).collect(Collectors.toList());
                    supervisors.put(parts[0], new SupervisorDetails(parts[0], parts[1], null, ports));
                    break;
                case "blacklisted":
                    blacklistedHosts.add(parts[0]);
                    break;
                default:
                    details.put(parts[0], topology(parts));
                    existing.put(parts[0], assignment(parts[3]));
            }
        }
        Topologies topologies = new Topologies(details);
        // Storm goes through these in their own hash order; like this, conflicts go to the first of one and the same order.
        Map<String, SchedulerAssignment> assignments = new LinkedHashMap<>();
        List<String> answer = new ArrayList<>();
        for (String id : topologies.getAllIds()) {
            answer.add("order=" + id);
            if (!existing.get(id).isEmpty()) {
                assignments.put(id, new SchedulerAssignmentImpl(id, existing.get(id), null, null));
            }
        }
        List<String> freed = new ArrayList<>();
        Cluster cluster = new Cluster(new Nimbus.StandaloneINimbus(), new ResourceMetrics(new StormMetricsRegistry()),
            supervisors, assignments, topologies, new HashMap<>()) {
            @Override
            public void freeSlots(Collection<WorkerSlot> slots) {
                // All of them are of the topology whose turn it is.
                if (slots != null && !slots.isEmpty()) {
                    freed.add("freed=" + owner(this, slots.iterator().next()) + ";"
                        + slots.stream().map(WorkerSlot::getId).collect(Collectors.joining(",")));
                }
                super.freeSlots(slots);
            }
        };
        cluster.setBlacklistedHosts(blacklistedHosts);
        try {
            scheduler.schedule(topologies, cluster);
        } catch (RuntimeException error) {
            answer.add("exception=" + error.getClass().getSimpleName());
            return String.join("\t", answer);
        }
        answer.addAll(freed);
        for (String id : topologies.getAllIds()) {
            SchedulerAssignment assignment = cluster.getAssignmentById(id);
            List<String> executors = new ArrayList<>();
            if (assignment != null) {
                for (Map.Entry<ExecutorDetails, WorkerSlot> entry : assignment.getExecutorToSlot().entrySet()) {
                    ExecutorDetails executor = entry.getKey();
                    executors.add(executor.getStartTask() + "-" + executor.getEndTask() + "@" + entry.getValue().getId());
                }
            }
            answer.add("result=" + id + ";" + String.join(",", executors));
        }
        return String.join("\t", answer);
    }

    private static String owner(Cluster cluster, WorkerSlot slot) {
        for (SchedulerAssignment assignment : cluster.getAssignments().values()) {
            if (assignment.isSlotOccupied(slot)) {
                return assignment.getTopologyId();
            }
        }
        throw new IllegalStateException("a slot is freed that nobody has");
    }

    private static TopologyDetails topology(String[] parts) {
        Map<ExecutorDetails, String> executors = new HashMap<>();
        for (String executor : list(parts[2])) {
            executors.put(executor(executor), "bolt");
        }
        Map<String, Object> conf = new HashMap<>();
        conf.put("topology.name", parts[0]);
        // Without its code a topology asks for no resources, which these schedulers do not look at.
        return new TopologyDetails(parts[0], conf, null, Integer.parseInt(parts[1]), executors, "user");
    }

    private static Map<ExecutorDetails, WorkerSlot> assignment(String text) {
        Map<ExecutorDetails, WorkerSlot> assignment = new HashMap<>();
        for (String pair : list(text)) {
            int at = pair.indexOf('@');
            assignment.put(executor(pair.substring(0, at)), slot(pair.substring(at + 1)));
        }
        return assignment;
    }

    private static ExecutorDetails executor(String text) {
        String[] tasks = text.split("-");
        return new ExecutorDetails(Integer.parseInt(tasks[0]), Integer.parseInt(tasks[1]));
    }

    private static WorkerSlot slot(String text) {
        int at = text.lastIndexOf(':');
        return new WorkerSlot(text.substring(0, at), Integer.parseInt(text.substring(at + 1)));
    }

    private static List<String> list(String text) {
        return text.isEmpty() ? List.of() : List.of(text.split(","));
    }
}
