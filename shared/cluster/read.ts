export * from "../kube/read.ts";
