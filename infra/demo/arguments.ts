/**
 * The command line of `npm start`.
 * Owns: the arguments and the usage text.
 */
export const STORIES = ["drain"] as const;
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

Stories:
  drain    drain a node full of virtual machines, losing none (the default)

Options:
  --exit   exit when the story is told, instead of leaving the cluster up to play with
  --help   show this text`;

export function parseArguments(argv: readonly string[]): ParsedArguments {
  let story: StoryName | undefined;
  let exit = false;
  for (const argument of argv) {
    if (argument === "--help" || argument === "-h") return { kind: "Help" };
    if (argument === "--exit") exit = true;
    else if (argument.startsWith("-")) return { kind: "Error", message: `unknown option ${argument}` };
    else if (story !== undefined) return { kind: "Error", message: `one story at a time: ${story}, then ${argument}` };
    else if (isStory(argument)) story = argument;
    else return { kind: "Error", message: `unknown story ${argument}` };
  }
  return { kind: "Run", arguments: { story: story ?? "drain", exit } };
}

function isStory(name: string): name is StoryName {
  return (STORIES as readonly string[]).includes(name);
}
