/** kube-proxy. It forwards connections from a Service's address to the Service's ready pods. */
import { connect, createServer, type Server, type Socket } from "node:net";
import type { PodNetwork } from "../processes/pod-network.ts";
import { actorOf, type Actor, type ActorOptions } from "./actor.ts";
import { startController, type Result } from "./controller.ts";
import { startInformer } from "./informer.ts";
import { endpointSlices, keyOf, services, type EndpointSlice, type Service } from "./resources.ts";

export interface KubeProxyOptions extends ActorOptions {
  readonly network: Pick<PodNetwork, "portOf">;
}

const SERVICE_NAME = "kubernetes.io/service-name";
const LOOPBACK = /^127\./;

export function startKubeProxy(options: KubeProxyOptions): Actor {
  const known = startInformer({ ...options, resource: services });
  const slices = startInformer({
    ...options,
    resource: endpointSlices,
    indexes: { service: (slice) => [serviceOf(slice)] },
  });
  /** The listening servers. The keys of the outer map are Services, and the keys of the inner maps are ports. */
  const listening = new Map<string, Map<string, Server>>();
  const open = new Set<Socket>();
  let turn = 0;

  const reconcile = async (key: string): Promise<Result> => {
    const wanted = listenersOf(known.get(key));
    const present = listening.get(key) ?? new Map<string, Server>();
    listening.set(key, present);
    for (const [address, server] of present) if (!wanted.has(address)) close(server, present, address);
    for (const [address, port] of wanted)
      if (!present.has(address)) present.set(address, await listen(address, (client) => pass(client, key, port)));
    if (present.size === 0) listening.delete(key);
  };

  const pass = (client: Socket, service: string, port: string): void => {
    const ports = slices.byIndex("service", service).flatMap((slice) => backendsOf(slice, port));
    const chosen = ports[turn++ % ports.length];
    open.add(client);
    client.on("error", () => client.destroy());
    if (chosen === undefined) client.resetAndDestroy();
    else {
      const pod = connect(chosen, "127.0.0.1");
      pod.on("error", () => client.resetAndDestroy());
      client.on("close", () => pod.destroy());
      pod.on("close", () => client.destroy());
      client.pipe(pod).pipe(client);
    }
    client.on("close", () => open.delete(client));
  };

  /** Returns the local ports of the Service's ready pods. `name` is the name of the Service's port. */
  const backendsOf = ({ endpoints, ports }: EndpointSlice, name: string): readonly number[] => {
    const target = (ports ?? []).find((one) => (one.name ?? "") === name)?.port;
    const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
    return ready.flatMap(({ targetRef }) => {
      const port = target === undefined ? undefined : options.network.portOf(targetRef?.uid ?? "", target);
      return port === undefined ? [] : [port];
    });
  };

  const controller = startController({ name: "kube-proxy", reconcile, ...options });
  controller.watch(known, (service) => [keyOf(service)]);
  const listeners: Actor = {
    async stop() {
      for (const servers of listening.values()) for (const server of servers.values()) server.close();
      for (const socket of open) socket.destroy();
      await Promise.resolve();
    },
  };
  return actorOf([controller], [listeners], [known, slices]);
}

/**
 * Returns a map from each `address:port` of the Service to the name of the port. The map is empty if the Service has no
 * selector, or if its address is not a loopback address.
 */
function listenersOf(service: Service | undefined): ReadonlyMap<string, string> {
  const { clusterIP = "", selector, ports = [] } = service?.spec ?? {};
  if (!LOOPBACK.test(clusterIP) || selector === undefined) return new Map();
  return new Map(ports.map(({ port, name = "" }) => [`${clusterIP}:${port}`, name]));
}

function serviceOf({ metadata }: EndpointSlice): string {
  return `${metadata.namespace}/${metadata.labels?.[SERVICE_NAME] ?? ""}`;
}

function listen(address: string, onConnection: (socket: Socket) => void): Promise<Server> {
  const [host = "", port = ""] = address.split(":");
  const server = createServer(onConnection);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(Number(port), host, () => resolve(server));
  });
}

function close(server: Server, present: Map<string, Server>, address: string): void {
  present.delete(address);
  server.close();
}
