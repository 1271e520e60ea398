/**
 * Whether whoever asks may: by the specification, worked out anew from the request alone.
 * Owns: that, and what must not happen for a stranger. Does not own: the rest of the contract (judge.ts).
 */
import { SECRETS } from "./canaries.ts";
import type { Asked } from "./cluster/hostile-cluster.ts";
import { CONTRACT, type DoorName } from "./contract.ts";
import { signatureOf } from "./requests/credentials.ts";
import { type FuzzedRequest, headersOf, textOf } from "./requests/request.ts";

const TOLERANCE_SECONDS = 300;
/** Ours: the specification has no limit. */
const MOST_SIGNATURES = 8;

export interface Asking {
  readonly code: number;
  readonly asked: readonly Asked[];
  readonly now: Date;
}

/** Who presents no secret of ours gets no further than the door. */
export function authenticationProblems(door: DoorName, request: FuzzedRequest, asking: Asking): readonly string[] {
  const checks = door === "events" ? deliveryChecks(request, asking) : strangerChecks(door, request, asking);
  return checks.flatMap(([isWrong, problem]) => (isWrong ? [problem] : []));
}

type Checks = readonly (readonly [isWrong: boolean, problem: string])[];

function deliveryChecks(request: FuzzedRequest, { code, asked, now }: Asking): Checks {
  const signed = isSigned(request, now);
  return [
    [!signed && asked.length > 0, "something was read for a delivery that nobody has signed"],
    [!signed && code === 204, "a delivery was taken that nobody has signed"],
    [signed && code === 401, "a signed delivery was refused"],
  ];
}

function strangerChecks(door: DoorName, request: FuzzedRequest, { code, asked }: Asking): Checks {
  if (!CONTRACT[door].guarded || presentsSecret(request)) return [];
  // A review for a cluster whose entry is broken is denied before anybody could be asked for a token.
  const answered = code === 200 && door !== "evictions";
  return [
    [asked.length > 0, "something was read for a stranger"],
    [answered, "a stranger got an answer"],
  ];
}

function presentsSecret(request: FuzzedRequest): boolean {
  const said = `${request.path} ${[...headersOf(request).values()].join(" ")}`;
  return said.includes(SECRETS.webhookToken) || said.includes(SECRETS.operatorToken);
}

function isSigned(request: FuzzedRequest, now: Date): boolean {
  const headers = headersOf(request);
  const said = (name: string) => headers.get(`webhook-${name}`) ?? "";
  const [id, timestamp] = [said("id"), said("timestamp")];
  const isFresh = Math.abs(now.getTime() / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS;
  if (id === "" || !/^\d{1,12}$/.test(timestamp) || !isFresh) return false;
  const right = [SECRETS.relaySecret, SECRETS.oldRelaySecret].map((secret) => {
    return signatureOf(textOf(request), id, timestamp, secret);
  });
  return said("signature")
    .split(" ", MOST_SIGNATURES)
    .some((given) => right.includes(given));
}
