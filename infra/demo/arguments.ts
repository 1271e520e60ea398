/**
 * The command line of `npm start`.
 * Owns: the arguments and the usage text.
 */
export const STORIES = ["drain", "preemption", "taint", "pressure", "descheduler"] as const;
export type StoryName = (typeof STORIES)[number];

export interface Arguments {
  readonly story: StoryName;
  /** Do not stay up after the story, even on a terminal. */
  readonly exit: boolean;
}

export type ParsedArguments =
  | { readonly kind: "Run"; readonly arguments: Arguments }
  | { readonly kind: "Help" }
  | { readonly kind: "Error"; readonly message: string };

export const USAGE = `Usage: npm start [-- [STORY] [--exit]]

Each story happens in two clusters: one goes without Lifeboat or, for the descheduler, without its gate. Stories:
  drain        a node full of virtual machines is drained (the default)
  preemption   a pod of high priority takes the place of virtual machines
  taint        a NoExecute taint drives everything off a node
  pressure     a node runs out of memory, and its kubelet out of patience
  descheduler  a lopsided cluster is balanced, a few VMs at a time; then another, without the gate for that

Options:
  --exit   exit when the story is told, instead of leaving the clusters up to play with
  --help   show this text

The exit code is 0 if all went well with Lifeboat, and no virtual machine was lost.`;

export function parseArguments(argv: readonly string[]): ParsedArguments {
  let story: StoryName | undefined;
  let exit = false;
  for (const argument of argv) {
    if (argument === "--help" || argument === "-h") return { kind: "Help" };
    if (argument === "--exit") exit = true;
    else if (argument.startsWith("-")) return { kind: "Error", message: `unknown option ${argument}` };
    else if (story !== undefined) return { kind: "Error", message: `one story at a time: ${story}, then ${argument}` };
    else if (isStory(argument)) story = argument;
    else return { kind: "Error", message: `unknown story ${argument}: there are ${STORIES.join(", ")}` };
  }
  return { kind: "Run", arguments: { story: story ?? "drain", exit } };
}

function isStory(name: string): name is StoryName {
  return (STORIES as readonly string[]).includes(name);
}
