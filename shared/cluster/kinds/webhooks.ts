export * from "../../kube/schemas/webhooks.ts";
