import type { IntOrString, PersistentVolumeClaim, PodTemplate } from './core.types.js';
import type { Condition, Draft, KubeObject } from './kube.object.js';
import type { LabelSelector } from './label.selector.js';

interface ReplicaCounts {
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
}

export interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly paused?: boolean;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly minReadySeconds?: number;
    readonly progressDeadlineSeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly strategy?: {
      readonly type?: 'RollingUpdate' | 'Recreate';
      readonly rollingUpdate?: { readonly maxSurge?: IntOrString; readonly maxUnavailable?: IntOrString };
    };
  };
  readonly status?: ReplicaCounts & { readonly updatedReplicas?: number; readonly unavailableReplicas?: number };
}

export interface ReplicaSet extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: ReplicaCounts & { readonly fullyLabeledReplicas?: number };
}

export interface DaemonSet extends KubeObject {
  readonly spec: {
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly updateStrategy?: {
      readonly type?: 'RollingUpdate' | 'OnDelete';
      readonly rollingUpdate?: { readonly maxUnavailable?: IntOrString; readonly maxSurge?: IntOrString };
    };
  };
  readonly status?: {
    readonly currentNumberScheduled: number;
    readonly desiredNumberScheduled: number;
    readonly numberMisscheduled: number;
    readonly numberReady: number;
    readonly numberAvailable?: number;
    readonly numberUnavailable?: number;
    readonly updatedNumberScheduled?: number;
    readonly observedGeneration?: number;
  };
}

export interface StatefulSet extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly serviceName?: string;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly podManagementPolicy?: 'OrderedReady' | 'Parallel';
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly updateStrategy?: {
      readonly type?: 'RollingUpdate' | 'OnDelete';
      readonly rollingUpdate?: { readonly partition?: number };
    };
    readonly volumeClaimTemplates?: readonly Draft<PersistentVolumeClaim>[];
  };
  readonly status?: ReplicaCounts & {
    readonly currentReplicas?: number;
    readonly updatedReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
  };
}

export interface ControllerRevision extends KubeObject {
  readonly data: object;
  readonly revision: number;
}

export interface Job extends KubeObject {
  readonly spec: {
    readonly parallelism?: number;
    readonly completions?: number;
    readonly backoffLimit?: number;
    readonly suspend?: boolean;
    readonly ttlSecondsAfterFinished?: number;
    readonly selector?: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: {
    readonly active?: number;
    readonly ready?: number;
    readonly succeeded?: number;
    readonly failed?: number;
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly conditions?: readonly Condition[];
  };
}
