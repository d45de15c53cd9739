import { gateJobOf, type JobManifest, type UserGate } from '@fairlead/contracts';
import { SIGNATURE_HEADER } from '@fairlead/service-kit/http';
import { createHash } from 'node:crypto';
import type { Manifest, UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { Verdict } from './gate.js';
import type { GateSources } from './gates.ports.js';
import { fails, holds } from './verdict.js';

/** Names of Kubernetes objects have at most this length. */
const NAME_LENGTH_MAX = 63;
const MARK_LENGTH = 8;

export interface UserGateLook extends Pick<GateSources, 'http' | 'signer'> {
  readonly cluster: UpgradeCluster;
  /** The namespace of the cluster. */
  readonly namespace: string;
  /** The identifier of this evaluation: each one has its own Job. */
  readonly asked: string;
  readonly signal: AbortSignal;
}

/** Evaluates a user-defined gate. One that cannot be evaluated does not hold. */
export const askUserGate = (gate: UserGate, look: UserGateLook): Promise<Verdict> =>
  gate.kind === 'http' ? askHttp(gate, look) : askJob(gate, look);

/** A gate is requested with GET. */
const NO_BODY = '';

const askHttp = async (
  { name, url, status, secretName }: Extract<UserGate, { readonly kind: 'http' }>,
  { http, signer, namespace, signal }: UserGateLook,
): Promise<Verdict> => {
  const signed = secretName === undefined ? undefined : await signer.sign({ namespace, name: secretName }, NO_BODY);
  if (signed !== undefined && 'why' in signed) return fails(`the gate ${name} is not asked: ${signed.why}`);
  const headers = signed === undefined ? {} : { [SIGNATURE_HEADER]: signed.header };
  const answer = await http.ask(url, signal, headers);
  switch (answer.kind) {
    case 'refused':
      // Without the URL, which may contain a password.
      return fails(`the gate ${name} is not asked: ${answer.why}`);
    case 'silent':
      return fails(`${url} does not answer: ${answer.why}`);
    case 'answered':
      return verdictOnStatus(answer.status, { url, status });
  }
};

const verdictOnStatus = (seen: number, desired: { readonly url: string; readonly status: number }): Verdict => {
  const facts = { status: seen };
  if (seen === desired.status) return holds(facts);
  const hint = seen >= 300 && seen < 400 ? '; redirects are not followed' : '';
  return fails(`${desired.url} answers ${seen}, not ${desired.status}${hint}`, facts);
};

/** The user's Job with a unique name per evaluation, so that an earlier result is not used. */
const jobFor = (manifest: JobManifest, namespace: string, asked: string): Manifest => {
  const mark = createHash('sha256').update(asked).digest('hex').slice(0, MARK_LENGTH);
  const stem = manifest.metadata.name.slice(0, NAME_LENGTH_MAX - MARK_LENGTH - 1);
  return { ...manifest, metadata: { ...manifest.metadata, namespace, name: `${stem}-${mark}` } };
};

const askJob = async (
  gate: Extract<UserGate, { readonly kind: 'job' }>,
  { cluster, asked }: UserGateLook,
): Promise<Verdict> => {
  // Events of earlier releases contain the text as requested.
  const checked = typeof gate.manifest === 'string' ? gateJobOf(gate.manifest) : { job: gate.manifest };
  if ('why' in checked) return fails(`the Job of the gate ${gate.name} is invalid: ${checked.why}`);
  const manifest = jobFor(checked.job, gate.namespace, `${asked}/${gate.name}`);
  const { name } = manifest.metadata;
  const facts = { job: `${gate.namespace}/${name}` };
  switch (await cluster.job(gate.namespace, name)) {
    case 'absent':
      await cluster.createJob(manifest);
      return fails(`Job ${gate.namespace}/${name} has started`, facts);
    case 'running':
      return fails(`Job ${gate.namespace}/${name} is running`, facts);
    case 'succeeded':
      return holds(facts);
    case 'failed':
      // Run again next time, from the start.
      await cluster.deleteJob(gate.namespace, name);
      return fails(`Job ${gate.namespace}/${name} has failed`, facts);
  }
};
