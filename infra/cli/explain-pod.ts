/** `lifeboat explain pod`: what would an eviction of this pod get, and why? */
import { reviewEviction } from "../../shared/pass/eviction.ts";
import { explanationOf, OUTCOMES } from "../../shared/pass/explanation.ts";
import { keyOf } from "../../shared/policy/facts.ts";
import { type Add, EXIT, output } from "./command.ts";
import { Failed } from "./failed.ts";
import type { Host } from "./host.ts";
import { paintFor, plain, printData } from "./print.ts";

export const explainPod: Add = (explain, { host, connect, ends }) => {
  explain
    .command("pod")
    .summary("what an eviction of the pod would get, and why")
    .description(
      `Says, from what is true now, what an eviction of the pod would be answered by Lifeboat, and why. Changes nothing.
Budgets are the API server's: explain node takes them into account.

Exit code: 0 answered, whatever the answer is; 1 the question could not be answered.`,
    )
    .argument("<pod>")
    .addOption(output(["json", "yaml"]))
    .action(
      ends(async (name, { output: form }) => {
        const connection = connect();
        const [cluster, key] = [connection.cluster(), { namespace: connection.namespace, name }];
        const request = { username: "explain", cause: "ApiEviction" } as const;
        const review = await reviewEviction(
          { key, pod: cluster.getPod(key), request },
          { cluster, settings: connection.settings, now: host.now() },
        );
        const explanation = explanationOf(review);
        if (explanation === undefined) throw new Failed(`pod "${name}" not found in namespace "${key.namespace}"`);
        if (form === undefined) printExplanation(explanation, host);
        else printData(explanation, form, host);
        return EXIT.done;
      }),
    );
};

function printExplanation(explanation: NonNullable<ReturnType<typeof explanationOf>>, host: Host): void {
  const { pod, decision, cooldown, facts } = explanation;
  const paint = paintFor(host.stdout, host);
  const verdict = decision.allowed ? paint("allowed", "green") : paint("refused (429)", "yellow");
  const words = [...("message" in decision ? [decision.message] : []), ...decision.warnings];
  const vm = facts.vmi && `VM ${keyOf(facts.vmi)}, eviction strategy ${facts.vmi.strategy}`;
  host.stdout.write(`pod ${pod}: an eviction would be ${verdict}: ${decision.reason}\n`);
  for (const line of [vm, OUTCOMES[decision.reason], ...words, cooldown]) {
    if (line !== undefined) host.stdout.write(`  ${plain(line)}\n`);
  }
}
