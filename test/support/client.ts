/** Connects the product's own client to a fake cluster, a stub server or a sandbox. */
import { type Client, type ClientOptions, createClient } from "../../shared/kube/client.ts";
import { type Before, FakeCluster, SERVER } from "./cluster.ts";
import { reach } from "./cluster/network.ts";
import { type Answers, clusterWith } from "./cluster/one-vm.ts";

type Server = Pick<ClientOptions["endpoint"], "server"> & Partial<ClientOptions["endpoint"]>;

const never = () => new AbortController().signal;

/** Connects a client. With a fake cluster, requests never time out. */
export function connectTo(to: FakeCluster | Server, before?: Before, more: Partial<ClientOptions> = {}): Client {
  const isFake = to instanceof FakeCluster;
  const its = isFake ? { server: SERVER, fetch: to.api.fetch(before) } : { fetch: reach, ...to };
  const timeout = isFake ? never : (ms: number) => AbortSignal.timeout(ms);
  const endpoint = { token: "t", headers: {}, ...its };
  return createClient({ endpoint, signal: timeout(60_000), timeout, onOddItem: throwing, ...more });
}

export function connectToOneVm(answers: Answers, onOddItem: ClientOptions["onOddItem"] = throwing) {
  const fake = clusterWith(answers);
  return { cluster: connectTo(fake, undefined, { onOddItem }), requests: fake.requests };
}

function throwing(resource: string, issue: string): never {
  throw new Error(`${resource}: ${issue}`);
}

export function present<T>(found: T | undefined): T {
  if (found === undefined) throw new Error("expected a value, got undefined");
  return found;
}
