/** `lifeboat explain pod`: what would an eviction of this pod get, and why? */
import { reviewEviction } from "../../shared/pass/eviction.ts";
import { explanationOf, OUTCOMES } from "../../shared/pass/explanation.ts";
import { keyOf } from "../../shared/policy/facts.ts";
import { type Command, COMMON_USAGE, connectionOf, formOf, nameIn, readCommand } from "./command.ts";
import { EXIT } from "./exit-code.ts";
import { Failed } from "./failed.ts";
import type { Host } from "./host.ts";
import { paintFor, plain, printData } from "./print.ts";

export const explainPod: Command = {
  words: ["explain", "pod"],
  summary: "what an eviction of the pod would get, and why",
  usage: `explain pod POD [-n NAMESPACE] [-o json|yaml]

Says, from what is true now, what an eviction of the pod would be answered by Lifeboat, and why. Changes nothing. Budgets are the API
server's: explain node takes them into account.

  -o, --output FORM           json or yaml
${COMMON_USAGE}

Exit code: 0 answered, whatever the answer is; 1 the question could not be answered.
`,
  flags: {},
  async run(args, host, opened) {
    const { values, positionals } = readCommand(args, {});
    const name = nameIn(positionals, "POD");
    const form = formOf(values.output, ["json", "yaml"]);
    const connection = connectionOf(values, host, opened);
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
  },
};

function printExplanation(explanation: NonNullable<ReturnType<typeof explanationOf>>, host: Host): void {
  const { pod, decision, cooldown, facts } = explanation;
  const paint = paintFor(host.stdout, host);
  const verdict = decision.allowed ? paint("allowed", "green") : paint("refused (429)", "yellow");
  const words = [...("message" in decision ? [decision.message] : []), ...decision.warnings];
  const outcome = OUTCOMES[decision.reason];
  const vm = facts.vmi === undefined ? [] : [`VM ${keyOf(facts.vmi)}, eviction strategy ${facts.vmi.strategy}`];
  host.stdout.write(`pod ${pod}: an eviction would be ${verdict}: ${decision.reason}\n`);
  for (const line of [
    ...vm,
    ...(outcome === undefined ? [] : [outcome]),
    ...words,
    ...(cooldown === undefined ? [] : [cooldown]),
  ])
    host.stdout.write(`  ${plain(line)}\n`);
}
