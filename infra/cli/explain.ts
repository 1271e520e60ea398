/** `lifeboat explain`: predicts a drain of a node, or the answer to an eviction of a pod. */
import { adviseOnHandler } from "./install/handler-advice.ts";
import { explanationOf, EXPLAINED } from "../../shared/eviction/explanation.ts";
import { reviewEviction } from "../../shared/eviction/review.ts";
import { keyOf } from "../../shared/kube/objects.ts";
import { readMigrationsOf } from "../../shared/kube/requests.ts";
import { preflight } from "../../shared/preflight/verdict.ts";
import { type Add, EXIT, KIND, nameMatching, output } from "./command.ts";
import { Failed } from "./failed.ts";
import type { Host } from "./host.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";
import { EMPTY_DIR, EXIT_OF, FORCE, observeNode, printPreflight } from "./preflight.ts";
import { paintFor, printable, printAs } from "./print.ts";

export const explain: Add = (program, call) => {
  const questions = program.command("explain").helpCommand(false);
  explainNode(questions, call);
  explainPod(questions, call);
};

const explainNode: Add = (questions, { host, connect, ends }) => {
  questions
    .command("node")
    .summary("predict whether a drain of the node succeeds, and what happens to each pod")
    .description(
      `Predicts, from the present state, whether a drain of the node will succeed: which VMs move, shut down, block or lack room
elsewhere, who can remove each obstacle, and how long the drain takes. The command changes nothing.

Exit code: 0 the drain will succeed, 3 the drain will block or has no room, 4 not everything could be read, 1 the command failed.`,
    )
    .argument("<node>", "node-1 or node/node-1", nameMatching("node", KIND.node))
    .option(...FORCE)
    .option(...EMPTY_DIR)
    .addOption(output("wide: every pod, with its message"))
    .action(
      ends(async (node, { output: form, force, deleteEmptydirData }) => {
        const flags = { force: force === true, deleteEmptyDirData: deleteEmptydirData === true };
        const connection = connect();
        const result = preflight(await observeNode(node, flags, { connection, host }));
        printAs(form, { data: result, table: (isWide) => printPreflight(result, isWide, host) }, host);
        await adviseOnHandler(connection, host);
        return EXIT_OF[result.verdict];
      }),
    );
};

const explainPod: Add = (questions, { host, connect, ends }) => {
  questions
    .command("pod")
    .summary("predict the answer to an eviction of the pod, and explain it")
    .description(
      `Predicts, from the present state, what Lifeboat would answer to an eviction of the pod, and why. The command
changes nothing. The predicted answer leaves out disruption budgets, which the API server checks; explain node includes these budgets.

Exit code: 0 the command printed an answer, 1 it could not find an answer.`,
    )
    .argument("<pod>", "NAME or pod/NAME", nameMatching("pod", KIND.pod))
    .addOption(output())
    .action(
      ends(async (name, { output: form }) => {
        const connection = connect();
        const [cluster, key] = [connection.cluster(), { namespace: connection.namespace, name }];
        const request = { username: "explain", cause: "ApiEviction" } as const;
        const review = await reviewEviction(
          { key, readPod: (from) => from.get("pods", key), request },
          { cluster, settings: connection.settings, now: host.now() },
        );
        const { vmi } = review.facts;
        const migrations = vmi === undefined ? [] : await readMigrationsOf([vmi], cluster);
        const explanation = explanationOf({ ...review, facts: { ...review.facts, migrations } });
        if (explanation === undefined) throw new Failed(MESSAGES.noPod(key));
        printAs(form, { data: explanation, table: () => printExplanation(explanation, host) }, host);
        return EXIT.done;
      }),
    );
};

function printExplanation(explanation: NonNullable<ReturnType<typeof explanationOf>>, host: Host): void {
  const { pod, decision, askedBy, cooldown, migration, facts } = explanation;
  const paint = paintFor(host.stdout, host);
  const isMoving = decision.reason === "EvacuationTriggered" || decision.reason === "EvacuationInProgress";
  const moves = paint(MESSAGES.evictionMoves, "green");
  const refused = isMoving ? moves : paint(MESSAGES.evictionRefused, "yellow");
  const verdict = decision.allowed ? paint(MESSAGES.evictionAllowed, "green") : refused;
  const words = [...("message" in decision ? [decision.message] : []), ...decision.warnings];
  const vm = facts.vmi && MESSAGES.strategyOf(keyOf(facts.vmi), facts.vmi.strategy);
  host.stdout.write(`${MESSAGES.eviction(pod, verdict, decision.reason)}\n`);
  const asked = askedBy && MESSAGES.requestedBy(askedBy);
  for (const line of [vm, EXPLAINED[decision.reason], ...words, asked, migration, cooldown]) {
    if (line !== undefined) host.stdout.write(`  ${printable(line)}\n`);
  }
}
