import {
  AUTOSCALER_CREDENTIALS_MAX,
  autoscalerCredentialsAfter,
  refuse,
  validCredentials,
  type AutoscalerCredentials,
  type Fact,
  type Refusal,
} from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

interface NamedCluster {
  readonly namespace: string;
  readonly cluster: string;
}

/** Changes nothing: its outcome is the state as the log has it. */
export type ReadCredentials = Command<'ReadCredentials', NamedCluster>;
/** `now` and `expiresAt` are RFC 3339. */
export type IssueCredential = Command<
  'IssueCredential',
  NamedCluster & {
    readonly credential: string;
    readonly keySha256: string;
    readonly now: string;
    readonly expiresAt: string;
  }
>;
export type RevokeCredential = Command<'RevokeCredential', NamedCluster & { readonly credential: string }>;

type CredentialCommand = ReadCredentials | IssueCredential | RevokeCredential;
type CredentialFact = Fact<'AutoscalerCredentialIssued' | 'AutoscalerCredentialRevoked'>;
type State = AutoscalerCredentials | undefined;

const unknown = ({ namespace, cluster }: NamedCluster): Refusal => refuse('cluster.unknown', { namespace, cluster });

const issue = (state: State, { data }: IssueCredential): readonly CredentialFact[] | Refusal => {
  if (state === undefined) return unknown(data);
  const { cluster, credential, keySha256, now, expiresAt } = data;
  if (validCredentials(state, now).length >= AUTOSCALER_CREDENTIALS_MAX)
    return refuse('autoscaler.too-many-credentials', { cluster, max: AUTOSCALER_CREDENTIALS_MAX });
  return [{ type: 'AutoscalerCredentialIssued', data: { uid: state.uid, id: credential, keySha256, expiresAt } }];
};

const revoke = (state: State, { data }: RevokeCredential): readonly CredentialFact[] | Refusal => {
  if (state === undefined) return unknown(data);
  const { cluster, credential } = data;
  if (!state.credentials.some(({ id }) => id === credential))
    return refuse('autoscaler.credential-unknown', { cluster, id: credential });
  return [{ type: 'AutoscalerCredentialRevoked', data: { uid: state.uid, id: credential } }];
};

/** Which client certificates of autoscalers open a cluster. */
export const autoscalerCredentials: Decider<State, CredentialCommand, CredentialFact> = {
  initial: undefined,
  reads: 'cluster',
  decide: (state, command) => {
    switch (command.type) {
      case 'ReadCredentials':
        return nothing;
      case 'IssueCredential':
        return issue(state, command);
      case 'RevokeCredential':
        return revoke(state, command);
    }
  },
  evolve: autoscalerCredentialsAfter,
};
