import { ClusterList, ClusterView } from '@fairlead/contracts';
import type { Reflector } from '@nestjs/core';
import type { z } from 'zod';
import { ANSWERS, isBelowLadybug, RECORDS, type Recording } from './documented.js';

type Handler = Parameters<Reflector['get']>[1];

/** Whether a route declares clusters, or a list of them, as its answer. */
export const answersClusters = (reflector: Reflector, handler: Handler): boolean =>
  (reflector.get<readonly z.ZodType[] | undefined>(ANSWERS, handler) ?? []).some(
    (schema) => schema === ClusterView || schema === ClusterList,
  );

/**
 * What a request adds to the log. A route says so itself; below CB-Ladybug's base an operator's answer has the kubeconfig of each cluster
 * besides, and each is on record.
 */
export const recordingOf = (reflector: Reflector, handler: Handler, path: string): Recording => {
  const records = reflector.get<Recording | undefined>(RECORDS, handler) ?? 'nothing';
  const addsConfigs = isBelowLadybug(path) && answersClusters(reflector, handler);
  return records === 'nothing' && addsConfigs ? 'access' : records;
};
