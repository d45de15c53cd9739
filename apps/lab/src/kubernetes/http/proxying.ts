import { parseQuantity } from '@fairlead/kubernetes/quantity';
import { ApiError, notFound } from '../errors/api.error.js';
import type { Node, Pod } from '../objects/core.types.js';
import { NODES, PODS } from '../resources/builtin.resources.js';
import { sendJson, sendText } from './answer.js';
import type { Exchange } from './exchange.js';
import { healthAnswer } from './plain.paths.js';

/** Handles proxied requests: to a control plane's own API server through its pod, and to kubelets. */
export const handleProxy = (exchange: Exchange): void => {
  const { resource } = exchange;
  if (resource === NODES) return kubelet(exchange);
  return apiServerPod(exchange);
};

/** `https:kube-apiserver-cp1:6443`: scheme, name and port of the target. */
const apiServerPod = ({ cluster, info, response }: Exchange): void => {
  const [, name = info.name ?? ''] = (info.name ?? '').split(':');
  const pod: Pod | undefined = cluster.store.get(PODS, info.namespace, name);
  if (pod === undefined) throw notFound(PODS, name);
  if (pod.metadata.labels?.['component'] !== 'kube-apiserver')
    throw new ApiError(
      501,
      'NotImplemented',
      'this cluster is a simulation: only its API servers can be asked this way',
    );
  const { nodeName = '' } = pod.spec;
  if (!cluster.servesApi(nodeName)) {
    const message = `error trying to reach service: dial tcp ${pod.status?.podIP ?? nodeName}:6443: connect: connection refused`;
    throw new ApiError(503, 'ServiceUnavailable', message);
  }
  const { code, text } = healthAnswer(info.below, info.query, cluster.hasQuorum());
  sendText(response, code, text);
};

/** The share of a node's disk that is used by the system. */
const USED_SHARE = 0.1;

const kubelet = ({ cluster, info, response }: Exchange): void => {
  const node: Node | undefined = cluster.store.get(NODES, undefined, info.name ?? '');
  if (node === undefined) throw notFound(NODES, info.name ?? '');
  if (info.below !== '/stats/summary')
    throw new ApiError(501, 'NotImplemented', `the simulated kubelet does not serve ${info.below}`);
  const capacityBytes = parseQuantity(node.status?.capacity?.['ephemeral-storage'] ?? 0) ?? 0;
  const annotated = node.metadata.annotations?.[FREE_DISK];
  const availableBytes =
    (annotated === undefined ? undefined : parseQuantity(annotated)) ?? Math.floor(capacityBytes * (1 - USED_SHARE));
  const fs = { capacityBytes, availableBytes, usedBytes: capacityBytes - availableBytes };
  sendJson(response, 200, { node: { nodeName: node.metadata.name, fs, runtime: { imageFs: fs } }, pods: [] });
};

/** Annotation of a node: the free space that its kubelet reports, as a Kubernetes quantity. */
const FREE_DISK = 'lab.fairlead.dev/free-disk';
