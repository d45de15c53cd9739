import { HostBaseline, LogLines } from '@fairlead/contracts';
import * as z from 'zod';
import type { HostScript, StepName } from '../shell/script.js';
import { authenticationScript, type AuthenticationInput, type AuthenticationResult } from './authentication.script.js';
import { authorizedKeysScript, type AuthorizedKeysInput, type AuthorizedKeysResult } from './authorized-keys.script.js';
import { balanceApiScript, type BalanceApiInput, type BalanceApiResult } from './balance-api.script.js';
import { publishApiScript, type PublishApiInput, type PublishApiResult } from './publish-api.script.js';
import {
  checkPortsScript,
  PORT_TARGETS_MAX,
  PortAnswer,
  type CheckPortsInput,
  type CheckPortsResult,
} from './check-ports.script.js';
import { credentialsScript, type CredentialsInput, type CredentialsResult } from './credentials.script.js';
import { etcdAddMemberScript, type EtcdAddMemberInput, type EtcdAddMemberResult } from './etcd-add-member.script.js';
import { etcdHealthScript, type EtcdHealthInput, type EtcdHealthResult } from './etcd-health.script.js';
import { etcdMemberScript, type EtcdMemberInput, type EtcdMemberResult } from './etcd-member.script.js';
import {
  etcdPromoteMemberScript,
  type EtcdPromoteMemberInput,
  type EtcdPromoteMemberResult,
} from './etcd-promote-member.script.js';
import {
  etcdRemoveMemberScript,
  type EtcdRemoveMemberInput,
  type EtcdRemoveMemberResult,
} from './etcd-remove-member.script.js';
import { etcdctlScript, type EtcdctlInput, type EtcdctlResult } from './etcdctl.script.js';
import { kubeadmInitScript, type KubeadmInitInput, type KubeadmInitResult } from './kubeadm-init.script.js';
import {
  kubeadmJoinControlPlaneScript,
  kubeadmJoinWorkerScript,
  type KubeadmJoinControlPlaneInput,
  type KubeadmJoinControlPlaneResult,
  type KubeadmJoinResult,
  type KubeadmJoinWorkerInput,
} from './kubeadm-join.script.js';
import { kubeadmResetScript, type KubeadmResetInput, type KubeadmResetResult } from './kubeadm-reset.script.js';
import { HostFacts, lookScript, type LookInput, type LookResult } from './look.script.js';
import { nodeExecScript, type NodeExecInput, type NodeExecResult } from './node-exec.script.js';
import { nodeLogScript, type NodeLogInput, type NodeLogResult } from './node-log.script.js';
import { prepareScript, type PrepareInput, type PrepareResult } from './prepare.script.js';
import { readKubeconfigScript, type ReadKubeconfigInput, type ReadKubeconfigResult } from './read-kubeconfig.script.js';
import { removeSnapshotScript, type RemoveSnapshotInput, type RemoveSnapshotResult } from './remove-snapshot.script.js';
import {
  prepareVerificationScript,
  verifySnapshotScript,
  type PrepareVerificationInput,
  type PrepareVerificationResult,
  type VerifySnapshotInput,
  type VerifySnapshotResult,
} from './verify-snapshot.script.js';
import { verifyScript, type VerifyInput, type VerifyResult } from './verify.script.js';

/** The input of each step; also sent beside its script, for simulated hosts. */
export interface StepInputs {
  readonly prepare: PrepareInput;
  readonly verify: VerifyInput;
  readonly 'kubeadm-init': KubeadmInitInput;
  readonly credentials: CredentialsInput;
  readonly 'kubeadm-join-control-plane': KubeadmJoinControlPlaneInput;
  readonly 'kubeadm-join-worker': KubeadmJoinWorkerInput;
  readonly 'etcd-remove-member': EtcdRemoveMemberInput;
  readonly 'kubeadm-reset': KubeadmResetInput;
  readonly look: LookInput;
  readonly 'check-ports': CheckPortsInput;
  readonly 'balance-api': BalanceApiInput;
  readonly 'publish-api': PublishApiInput;
  readonly 'read-kubeconfig': ReadKubeconfigInput;
  readonly 'etcd-member': EtcdMemberInput;
  readonly 'etcd-health': EtcdHealthInput;
  readonly 'etcd-add-member': EtcdAddMemberInput;
  readonly 'etcd-promote-member': EtcdPromoteMemberInput;
  readonly etcdctl: EtcdctlInput;
  readonly 'remove-snapshot': RemoveSnapshotInput;
  readonly 'prepare-verification': PrepareVerificationInput;
  readonly 'verify-snapshot': VerifySnapshotInput;
  readonly 'authorized-keys': AuthorizedKeysInput;
  readonly authentication: AuthenticationInput;
  readonly 'node-exec': NodeExecInput;
  readonly 'node-log': NodeLogInput;
}

/** The FAIRLEAD-RESULT that each step prints. */
export interface StepResults {
  readonly prepare: PrepareResult;
  readonly verify: VerifyResult;
  readonly 'kubeadm-init': KubeadmInitResult;
  readonly credentials: CredentialsResult;
  readonly 'kubeadm-join-control-plane': KubeadmJoinControlPlaneResult;
  readonly 'kubeadm-join-worker': KubeadmJoinResult;
  readonly 'etcd-remove-member': EtcdRemoveMemberResult;
  readonly 'kubeadm-reset': KubeadmResetResult;
  readonly look: LookResult;
  readonly 'check-ports': CheckPortsResult;
  readonly 'balance-api': BalanceApiResult;
  readonly 'publish-api': PublishApiResult;
  readonly 'read-kubeconfig': ReadKubeconfigResult;
  readonly 'etcd-member': EtcdMemberResult;
  readonly 'etcd-health': EtcdHealthResult;
  readonly 'etcd-add-member': EtcdAddMemberResult;
  readonly 'etcd-promote-member': EtcdPromoteMemberResult;
  readonly etcdctl: EtcdctlResult;
  readonly 'remove-snapshot': RemoveSnapshotResult;
  readonly 'prepare-verification': PrepareVerificationResult;
  readonly 'verify-snapshot': VerifySnapshotResult;
  readonly 'authorized-keys': AuthorizedKeysResult;
  readonly authentication: AuthenticationResult;
  readonly 'node-exec': NodeExecResult;
  readonly 'node-log': NodeLogResult;
}

/** One rendered step for one host. */
export interface RenderedStep<Step extends StepName> {
  readonly step: Step;
  readonly script: string;
  readonly input: StepInputs[Step];
  readonly result: z.ZodType<StepResults[Step]>;
  /** After this time the host itself has ended the step. */
  readonly limitMs: number;
}

const changed = z.strictObject({ changed: z.boolean() });

/** Members reported by one host are written into the unit of another: only these patterns are accepted. */
const MEMBER_NAME = /^[a-z0-9][a-z0-9.-]{0,252}$/;
const PEER_URL = /^https:\/\/[0-9a-f.:[\]]{2,64}:2380$/;
const MEMBERS_MAX = 16;
/** Maximum length of an operator's command output, in Base64. */
const OUTPUT_LENGTH_MAX = 512 * 1_024;
const WORDS_LENGTH_MAX = 4_000;
const words = z.string().max(WORDS_LENGTH_MAX);
const count = z.int().min(0);

interface StepDefinition<Step extends StepName> {
  readonly render: (input: StepInputs[Step]) => HostScript;
  readonly result: z.ZodType<StepResults[Step]>;
}

const DEFINITIONS: { readonly [Step in StepName]: StepDefinition<Step> } = {
  prepare: {
    render: prepareScript,
    result: z.strictObject({
      agent: z.enum(['started', 'missing']),
      node: z.enum(['present', 'missing']),
      bundle: z.enum(['present', 'missing']),
    }),
  },
  verify: { render: verifyScript, result: z.strictObject({ problems: z.array(z.string()) }) },
  'kubeadm-init': {
    render: kubeadmInitScript,
    result: z.strictObject({ changed: z.boolean(), kubeconfig: z.base64() }),
  },
  credentials: {
    render: credentialsScript,
    result: z.strictObject({
      token: z.string().regex(/^[a-z0-9]{6}\.[a-z0-9]{16}$/),
      certificateKey: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .nullable(),
    }),
  },
  'kubeadm-join-control-plane': {
    render: kubeadmJoinControlPlaneScript,
    result: z.strictObject({ changed: z.boolean(), interrupted: z.boolean() }),
  },
  'kubeadm-join-worker': { render: kubeadmJoinWorkerScript, result: changed },
  'etcd-remove-member': {
    render: etcdRemoveMemberScript,
    result: z.strictObject({ changed: z.boolean(), members: z.int().min(0) }),
  },
  'kubeadm-reset': {
    render: kubeadmResetScript,
    result: z.strictObject({ changed: z.boolean(), left: z.array(z.string()) }),
  },
  'balance-api': { render: balanceApiScript, result: changed },
  'publish-api': { render: publishApiScript, result: changed },
  'read-kubeconfig': { render: readKubeconfigScript, result: z.strictObject({ kubeconfig: z.base64() }) },
  'etcd-member': { render: etcdMemberScript, result: changed },
  'etcd-health': { render: etcdHealthScript, result: z.strictObject({ members: z.int().min(1) }) },
  'etcd-add-member': {
    render: etcdAddMemberScript,
    result: z.strictObject({
      changed: z.boolean(),
      members: z
        .array(z.strictObject({ name: z.string().regex(MEMBER_NAME), peerUrl: z.string().regex(PEER_URL) }))
        .min(2)
        .max(MEMBERS_MAX),
    }),
  },
  'etcd-promote-member': { render: etcdPromoteMemberScript, result: z.strictObject({ members: z.int().min(1) }) },
  etcdctl: { render: etcdctlScript, result: changed },
  'remove-snapshot': { render: removeSnapshotScript, result: z.strictObject({}) },
  'prepare-verification': { render: prepareVerificationScript, result: z.strictObject({ problem: words.nullable() }) },
  'verify-snapshot': {
    render: verifySnapshotScript,
    result: z.strictObject({
      problem: words.nullable(),
      status: z.strictObject({ hash: count, revision: count, totalKey: count }).nullable(),
      revision: count.nullable(),
      objects: count.nullable(),
    }),
  },
  'authorized-keys': { render: authorizedKeysScript, result: changed },
  authentication: { render: authenticationScript, result: changed },
  'node-exec': {
    render: nodeExecScript,
    result: z.strictObject({
      exitCode: z.int().min(0).max(255),
      stdout: z.base64().max(OUTPUT_LENGTH_MAX),
      stderr: z.base64().max(OUTPUT_LENGTH_MAX),
      stdoutBytes: z.int().min(0),
      stderrBytes: z.int().min(0),
    }),
  },
  'node-log': { render: nodeLogScript, result: LogLines.omit({ number: true }) },
  'check-ports': {
    render: checkPortsScript,
    result: z.strictObject({ answers: z.array(PortAnswer).max(PORT_TARGETS_MAX) }),
  },
  look: {
    render: lookScript,
    result: z.strictObject({
      cpus: z.int().min(1),
      memoryMiB: z.int().min(1),
      facts: HostFacts,
      baseline: HostBaseline,
    }),
  },
};

/** Renders one step: pure text in, pure text out. */
export const renderStep = <Step extends StepName>(step: Step, input: StepInputs[Step]): RenderedStep<Step> => {
  const { render, result } = DEFINITIONS[step];
  const { text, limitSeconds } = render(input);
  return { step, script: text, input, result, limitMs: limitSeconds * 1000 };
};
