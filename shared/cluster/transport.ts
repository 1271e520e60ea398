export * from "../kube/transport.ts";
