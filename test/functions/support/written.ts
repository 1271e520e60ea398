/**
 * What requests of ours change, in the words of explain: told from the requests alone, in the order they go out in.
 * Owns: recognising what an eviction may need done before its answer. Does not own: the story, which follows it.
 */
import * as z from "zod/mini";
import type { Before } from "./doors.ts";

const MARK = "/status/evacuationNodeName";
const RECORD = "/metadata/annotations/lifeboat.dev~1evacuation";
const LABEL = "/metadata/labels/lifeboat.dev~1evacuation";
const Patch = z.array(z.object({ op: z.string(), path: z.string(), value: z.optional(z.unknown()) }));

/** By what is added and taken away, tests left out. A record is in the VMI's annotations, the label in its labels. */
const CHANGES: readonly (readonly [verb: string, resource: RegExp, changes: readonly string[]])[] = [
  [
    "GrowBudget",
    /\/poddisruptionbudgets\/[^/]+$/,
    ["add /metadata/labels/lifeboat.dev~1grown-for", "add /spec/minAvailable"],
  ],
  ["Mark", /\/virtualmachineinstances\/[^/]+$/, [`add ${RECORD}`, `add ${LABEL}`, `add ${MARK}`]],
  // The label stays, or is put where it is missing, until nothing is left to be tidied up.
  ["Unmark", /\/virtualmachineinstances\/[^/]+$/, [`add ${RECORD}`, `remove ${MARK}`]],
  ["Unmark", /\/virtualmachineinstances\/[^/]+$/, [`add ${RECORD}`, `add ${LABEL}`, `remove ${MARK}`]],
  ["Forget", /\/virtualmachineinstances\/[^/]+$/, [`remove ${MARK}`]],
  ["Forget", /\/virtualmachineinstances\/[^/]+$/, [`remove ${LABEL}`, `remove ${MARK}`]],
  ["Forget", /\/virtualmachineinstances\/[^/]+$/, [`remove ${RECORD}`, `remove ${LABEL}`, `remove ${MARK}`]],
];

export interface Written {
  /** Notes what goes out. */
  readonly before: Before;
  /** Everything since the last time: verbs, and what is none of them as it was sent. */
  take(): readonly string[];
}

export function startWriting(): Written {
  let verbs: string[] = [];
  return {
    before(request, { body }) {
      if (/^GET .*\/poddisruptionbudgets\/[^/]+$/.test(request)) return void verbs.push("EnsureBudget");
      if (request.startsWith("GET ") || /^POST .*\/events$/.test(request)) return;
      // There was none: it is made; and one that is to grow is grown again, whoever has made it meanwhile.
      if (/^POST .*\/poddisruptionbudgets$/.test(request)) {
        if (verbs.at(-1) === "GrowBudget") verbs.pop();
        return;
      }
      verbs.push(verbOf(request, typeof body === "string" ? body : ""));
    },
    take() {
      const taken = verbs;
      verbs = [];
      return taken;
    },
  };
}

function verbOf(request: string, body: string): string {
  const [method = "", path = ""] = request.split(" ");
  const sent = method === "PATCH" ? Patch.parse(JSON.parse(body)) : [];
  const changes = sent.flatMap(({ op, path: place }) => (op === "test" ? [] : [`${op} ${place}`]));
  const found = CHANGES.find(([, resource, expected]) => resource.test(path) && isSame(expected, changes));
  return found?.[0] ?? `${request} ${body}`;
}

function isSame(expected: readonly string[], changes: readonly string[]): boolean {
  return expected.toSorted().join() === changes.toSorted().join();
}
