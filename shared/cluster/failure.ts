export * from "../kube/failures.ts";
