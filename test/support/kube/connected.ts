/** A cluster as the product sees it, over HTTP. */
import { type Client, type ClientOptions, createClient } from "../../../shared/kube/client.ts";
import { reach } from "../answers.ts";
import { type CannedAnswers, startCannedCluster } from "../canned-cluster.ts";

type Server = Pick<ClientOptions["endpoint"], "server"> & Partial<ClientOptions["endpoint"]>;

export function connectTo(server: Server, onOddItem: ClientOptions["onOddItem"] = throwing): Client {
  const endpoint = { token: "t", headers: {}, fetch: reach, ...server };
  return createClient({ endpoint, signal: timeout(60_000), timeout, onOddItem });
}

function timeout(ms: number): AbortSignal {
  return AbortSignal.timeout(ms);
}

/** A cluster that answers as told until the test ends, and what it is asked. */
export function canned(answers: CannedAnswers, onOddItem?: ClientOptions["onOddItem"]) {
  const server = startCannedCluster(answers);
  return { cluster: connectTo({ server: server.url }, onOddItem), requests: server.requests };
}

function throwing(resource: string, issue: string): never {
  throw new Error(`${resource}: ${issue}`);
}

export function present<T>(found: T | undefined): T {
  if (found === undefined) throw new Error("it is not there");
  return found;
}
