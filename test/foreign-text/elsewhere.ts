/** Why a place is not fed. */
interface Elsewhere {
  readonly why: string;
  /** The spec that shows the bound, and its title there; absent: the text is not foreign. */
  readonly shownBy?: readonly [file: string, title: string];
}

/** Places that parse text and are not fed here. */
export const ELSEWHERE: Readonly<Record<string, Elsewhere>> = {
  'libs/service-kit/src/charts/chart.index.ts': {
    why: 'a worker thread with a deadline and a limit of memory parses it, and only this thread can be measured here',
    shownBy: ['apps/infra-svc/src/adapters/helm/helm.repository.int.spec.ts', 'many keys in one flow map'],
  },
  'libs/parsers/src/': {
    why: 'the bounded parsers themselves',
    shownBy: ['libs/parsers/src/parsers.unit.spec.ts', 'takes at most 200 ms per MiB: %s'],
  },
  'libs/kubernetes/src/kubernetes.client.ts': {
    why: 'words of refusals of at most 64 KiB, and answers that are refused before they are parsed if they are dense',
    shownBy: [
      'libs/kubernetes/src/hostile.answers.int.spec.ts',
      'are rejected as JSON that takes many times its length',
    ],
  },
  'apps/gateway/src/autoscaler/autoscaler.server.ts': {
    why: 'passes bytes to the decoder in externalgrpc.messages.ts, which is fed',
  },
  'apps/gateway/src/costs/price.list.ts': { why: 'a file of the installation, at its start, by a bounded parser' },
  'apps/cli/src/token/token.commands.ts': { why: 'words that a person types' },
  'apps/gateway/src/http/text.ts': { why: 'the expression that is written there as a literal, which is tried' },
  'apps/node-agent/src/node/host.addresses.ts': { why: 'an alternative of fixed names' },
  'apps/node-agent/src/software/unit.state.ts': { why: 'what systemctl prints of two properties' },
  'apps/lab/src/': { why: 'a simulation that only its own platform reaches, on loopback' },
  'apps/bootstrap-svc/src/upstream.files.ts': { why: 'files of this repository' },
  'libs/embedded/src/credentials/authority.store.ts': { why: 'files of the data folder that Fairlead has written' },
  'libs/testing/src/': { why: 'for specs only' },
};
