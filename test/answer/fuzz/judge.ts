/** Whether an answer keeps the contract. */
import type * as z from "zod/mini";
import { at, parsedJson } from "../../support/json.ts";
import { authenticationProblems, type KeysByCluster } from "./authentication.ts";
import { canaryIn, isStackTrace } from "./canaries.ts";
import type { Asked } from "./cluster/hostile-cluster.ts";
import { CONTRACT, type DoorName, doorOf, Failure } from "./contract.ts";
import { asCurl, bodyOf, type FuzzedRequest, ORIGIN, pathOf } from "./requests/request.ts";

export interface Answer {
  readonly code: number;
  readonly headers: string;
  readonly text: string;
}

export interface Circumstances {
  /** Which tokens are right; absent where `CLUSTERS` is not what it should be. */
  readonly keys: KeysByCluster | undefined;
  /** The platform's own registry has failed: nothing but 500 can be said, and the webhook's failurePolicy decides. */
  readonly registryFailed: boolean;
  /** What was asked of the cluster in the course of this request. */
  readonly asked: readonly Asked[];
  readonly now: Date;
}

export async function answerOf(
  received: Pick<Response, "status" | "text"> & { headers: Iterable<[string, string]> },
): Promise<Answer> {
  const headers = [...received.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  return { code: received.status, headers, text: await received.text() };
}

export interface Judged {
  /** Door and code. */
  readonly outcome: string;
  /** Each with the request and the answer. */
  readonly problems: readonly string[];
}

/** `more`: problems that were found elsewhere. */
export function judge(
  request: FuzzedRequest,
  answer: Answer,
  circumstances: Circumstances,
  more: readonly string[] = [],
): Judged {
  const { keys } = circumstances;
  const door = doorOf(request.method, decoded(pathOf(request)));
  const problems = [
    ...answerProblems(door, request, answer, circumstances),
    ...secretProblems(answer),
    ...(keys === undefined ? [] : authenticationProblems(door, request, { ...circumstances, keys, code: answer.code })),
    ...writeProblems(door, request, answer, circumstances),
    ...more,
  ];
  const course = `${asCurl(request)}\n→ ${answer.code} ${answer.text.slice(0, 2000)}`;
  return { outcome: `${door} ${answer.code}`, problems: problems.map((problem) => `${problem}\n${course}`) };
}

/** As the router sees it: an encoded slash stays one, and so do escapes that are no text; those beside them do not. */
function decoded(pathname: string): string {
  return pathname.replaceAll(/(?:%[\da-f]{2})+/gi, (escapes) => {
    try {
      return decodeURI(escapes);
    } catch {
      return escapes;
    }
  });
}

function answerProblems(door: DoorName, request: FuzzedRequest, answer: Answer, c: Circumstances): readonly string[] {
  const { code, text } = answer;
  if (c.registryFailed && code === 500) return [];
  const { largest, answers } = CONTRACT[door];
  const schema = schemaOf(answers, code);
  if (schema === undefined) return isStray(request, answer) ? [] : [`${door}: answered ${code}`];
  const checks = [
    [text.length > largest, `${door}: an answer of ${text.length} bytes`],
    [!isDescribed(request, schema, text), `${door}: ${code} with another body`],
    [code === 200 && ADMISSION.has(door) && !isItsReview(request, text), `${door}: the uid is not the request's`],
  ] as const;
  return checks.flatMap(([isWrong, problem]) => (isWrong ? [problem] : []));
}

const ADMISSION: ReadonlySet<DoorName> = new Set(["evictions", "deletions"]);

/** What is left of a mutated path may be a page's, which pages.ts judges. */
const OF_PAGES = /^\/(?:$|\?|signin|signout|fleet\/|assets\/)/;

/** A path with escapes in it may lead nowhere, where a reader would see a door. Dots lead up. */
function isStray({ path }: FuzzedRequest, { code, text }: Answer): boolean {
  const { pathname, search } = new URL(`${ORIGIN}${path}`);
  if (OF_PAGES.test(`${pathname}${search}`)) return code < 500;
  return code === 404 && path.includes("%") && Failure.safeParse(parsedJson(text)).success;
}

function schemaOf(answers: Readonly<Record<number, z.ZodMiniType>>, code: number): z.ZodMiniType | undefined {
  return answers[code];
}

function isDescribed({ method }: FuzzedRequest, schema: z.ZodMiniType, text: string): boolean {
  return method === "HEAD" ? text === "" : schema.safeParse(parsedJson(text) ?? text).success;
}

function isItsReview(request: FuzzedRequest, text: string): boolean {
  return at(bodyOf(request), "request", "uid") === at(parsedJson(text), "response", "uid");
}

function secretProblems({ text, headers }: Answer): readonly string[] {
  const canary = canaryIn(text) ?? canaryIn(headers);
  const leaked = canary === undefined ? [] : [`the answer tells a secret: ${canary}`];
  return isStackTrace(text) ? [...leaked, "the answer has a stack trace"] : leaked;
}

function writeProblems(
  door: DoorName,
  request: FuzzedRequest,
  { code }: Answer,
  { asked }: Circumstances,
): readonly string[] {
  const writes = asked.filter((one) => one.write && !one.event).map((one) => one.request);
  const first = writes[0];
  if (first === undefined) return [];
  const never = CONTRACT[door].writes === "Never" || isDryRun(request, door);
  if (never) return [`${door}: changed the cluster by ${first}`];
  return code === 400 || code === 401 || code === 413 || code === 415
    ? [`${door}: answered ${code} after ${first}`]
    : [];
}

function isDryRun(request: FuzzedRequest, door: DoorName): boolean {
  // Given twice, the first counts.
  if (new URL(`${ORIGIN}${request.path}`).searchParams.get("dryRun") === "true") return true;
  const review = at(bodyOf(request), "request");
  // An eviction is a creation with options of its own, for which an API server sets the review's `dryRun`.
  const list = door === "deletions" ? at(review, "options", "dryRun") : at(review, "object", "deleteOptions", "dryRun");
  return at(review, "dryRun") === true || (Array.isArray(list) && list.includes("All"));
}
