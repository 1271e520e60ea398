/** The command line of `npm start`. */
import { FLAG, HELP, nameOf, readArguments, UsageError } from "../../tools/console/arguments.ts";

export const STORIES = ["drain", "preemption", "taint", "pressure", "descheduler"] as const;
export type StoryName = (typeof STORIES)[number];

export interface Arguments {
  readonly story: StoryName;
  /** Do not stay up after the story, even on a terminal. */
  readonly exit: boolean;
  /** Lifeboat is pods of its cluster, and no Worker beside it. */
  readonly inCluster: boolean;
  readonly help: boolean;
}

export const USAGE = `Usage: npm start [-- [STORY] [--in-cluster] [--exit]]

Each story happens in two clusters: one goes without Lifeboat, or without what the story is about. Stories:
  drain        a node full of virtual machines is drained (the default)
  preemption   a pod of high priority takes the place of virtual machines
  taint        a NoExecute taint drives everything off a node
  pressure     a node runs out of memory, and its kubelet out of patience; then a kubelet has less, and one cluster
               goes without the shield
  descheduler  a lopsided cluster is balanced, a few VMs at a time; then another, without the gate for that

Options:
  --in-cluster   Lifeboat is two pods of its cluster, instead of a Worker beside it
  --exit         exit when the story is told, instead of leaving the clusters up to play with
  --help         show this text

The exit code is 0 if all went well with Lifeboat, and no virtual machine was lost.`;

export function parseArguments(args: readonly string[]): Arguments {
  const { values, positionals } = readArguments(args, { exit: FLAG, "in-cluster": FLAG, help: HELP });
  const { "in-cluster": inCluster, exit, help } = values;
  const [story = "drain", second] = positionals.map((name) => nameOf(STORIES, name, "unknown story"));
  if (second !== undefined) throw new UsageError(`one story at a time: ${story}, then ${second}`);
  return { story, exit, inCluster, help };
}
