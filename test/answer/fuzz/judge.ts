/** Checks that an answer obeys the contract. */
import { at, parsedJson } from "../../support/json.ts";
import { authenticationProblems, type KeysByCluster } from "./authentication.ts";
import { canaryIn, isStackTrace } from "./canaries.ts";
import type { Asked } from "./cluster/hostile-cluster.ts";
import { CONTRACT, type EndpointName, endpointOf, Failure } from "./contract.ts";
import { bodyOf, decoded, type FuzzedRequest, ORIGIN, pathOf, shown } from "./requests/request.ts";

export interface Answer {
  readonly code: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface Circumstances {
  readonly keys: KeysByCluster;
  /**
   * True if Lifeboat could not read the entry of the cluster, for example from Workers KV. If true, the answer is 500,
   * and the API server applies the webhook's failurePolicy.
   */
  readonly registryFailed: boolean;
  readonly asked: readonly Asked[];
  readonly now: Date;
}

export async function answerOf(
  received: Pick<Response, "status" | "text"> & { headers: Iterable<[string, string]> },
): Promise<Answer> {
  return { code: received.status, headers: new Headers([...received.headers]), text: await received.text() };
}

export interface Judged {
  readonly outcome: string;
  readonly problems: readonly string[];
}

export function judge(request: FuzzedRequest, answer: Answer, circumstances: Circumstances): Judged {
  const endpoint = endpointOf(request.method, decoded(pathOf(request)));
  const problems = [
    ...answerProblems(endpoint, request, answer, circumstances),
    ...secretProblems(request, answer),
    ...(CONTRACT[endpoint].key === "Session" ? pageProblems(answer) : []),
    ...authenticationProblems(endpoint, request, { ...circumstances, code: answer.code }),
    ...writeProblems(endpoint, request, answer, circumstances),
  ];
  const course = `${shown(request)}\n→ ${answer.code} ${answer.text.slice(0, 2000)}`;
  return { outcome: `${endpoint} ${answer.code}`, problems: problems.map((problem) => `${problem}\n${course}`) };
}

function answerProblems(
  endpoint: EndpointName,
  request: FuzzedRequest,
  answer: Answer,
  c: Circumstances,
): readonly string[] {
  const { code, text } = answer;
  if (c.registryFailed && code === 500) return [];
  const { largest, answers } = CONTRACT[endpoint];
  const schema = new Map(Object.entries(answers)).get(String(code));
  if (schema === undefined)
    return isStray(request, answer) ? [] : [`${endpoint}: contract.ts does not list the code ${code}`];
  const isDescribed = request.method === "HEAD" ? text === "" : schema.safeParse(parsedJson(text) ?? text).success;
  const checks = [
    [text.length > largest, `${endpoint}: an answer of ${text.length} bytes is too long`],
    [!isDescribed, `${endpoint}: ${code} with a body that contract.ts does not allow`],
    [
      code === 200 && ADMISSION.has(endpoint) && !isItsReview(request, text),
      `${endpoint}: the uid is not that of the review`,
    ],
  ] as const;
  return checks.flatMap(([isWrong, problem]) => (isWrong ? [problem] : []));
}

const ADMISSION: ReadonlySet<EndpointName> = new Set(["evictions", "deletions"]);

/**
 * Returns true if the code is valid although contract.ts does not list it. A page may answer with any code below 500. A
 * path with percent-encoding may lead to 404.
 */
function isStray(request: FuzzedRequest, { code, text }: Answer): boolean {
  const { path } = request;
  if (/^\/(?:$|signin|signout|fleet\/|assets\/)/.test(pathOf(request))) return code < 500;
  return code === 404 && path.includes("%") && Failure.safeParse(parsedJson(text)).success;
}

function isItsReview(request: FuzzedRequest, text: string): boolean {
  return at(bodyOf(request), "request", "uid") === at(parsedJson(text), "response", "uid");
}

function secretProblems(request: FuzzedRequest, { text, headers }: Answer): readonly string[] {
  const known = decoded(request.path);
  const canary = canaryIn(text, known) ?? canaryIn([...headers].join("\n"), known);
  const leaked = canary === undefined ? [] : [`the answer contains a secret: ${canary}`];
  return isStackTrace(text) ? [...leaked, "the answer has a stack trace"] : leaked;
}

const COOKIE = ["HttpOnly", "Secure", "SameSite=Strict"];
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
];

function pageProblems({ headers, text }: Answer): readonly string[] {
  const header = (name: string) => headers.get(name) ?? "";
  const [policy, cookie, type] = [header("content-security-policy"), header("set-cookie"), header("content-type")];
  const isPage = /^text\/html\b/.test(type);
  const isStrict = POLICY.every((one) => policy.includes(one)) && !policy.includes("unsafe");
  const checks = [
    [isPage && !isStrict, `a Content-Security-Policy that is not strict: ${policy}`],
    [isPage && /<img src=x|<script>/.test(text), "a page with the markup of another party"],
    [cookie !== "" && !COOKIE.every((one) => cookie.includes(one)), `a cookie without ${COOKIE.join(", ")}: ${cookie}`],
    [!/^\/(?!\/)/.test(header("location") || "/"), `a redirect to another host: ${header("location")}`],
  ] as const;
  return checks.flatMap(([isWrong, problem]) => (isWrong ? [problem] : []));
}

function writeProblems(
  endpoint: EndpointName,
  request: FuzzedRequest,
  { code }: Answer,
  { asked }: Circumstances,
): readonly string[] {
  const first = asked.find(({ write }) => write)?.request;
  if (first === undefined) return [];
  const never = CONTRACT[endpoint].writes === "Never" || isDryRun(request, endpoint);
  if (never) return [`${endpoint}: Lifeboat changed the cluster by ${first}`];
  return [400, 401, 413, 415].includes(code)
    ? [`${endpoint}: the answer is ${code}, but Lifeboat changed the cluster by ${first}`]
    : [];
}

function isDryRun(request: FuzzedRequest, endpoint: EndpointName): boolean {
  // If a request has two `dryRun` parameters, Lifeboat uses the first one.
  if (new URL(`${ORIGIN}${request.path}`).searchParams.get("dryRun") === "true") return true;
  const review = at(bodyOf(request), "request");
  // The review of an eviction has its options in the object. The review of a deletion has its options in `options`.
  const list =
    endpoint === "deletions" ? at(review, "options", "dryRun") : at(review, "object", "deleteOptions", "dryRun");
  return at(review, "dryRun") === true || (Array.isArray(list) && list.includes("All"));
}
