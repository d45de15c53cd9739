import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type ChangeEvent } from 'react';
import { api, dataOf, type Schemas } from '../api.js';
import type { ClusterAt } from '../cluster/cluster.at.js';
import { ClusterTabs } from '../cluster/cluster.tabs.js';
import { actorText, counted, hashText, isPerson } from '../format.js';
import { usePlace, useQueryChange } from '../place.js';
import { Button, Clock, clusterPath, Failure, Icon, Link, Loading, Panel, State, Table } from '../ui/ui.js';
import { CauseGraphView } from './cause.graph.js';
import { traceSentence } from './causes.js';
import { inFile } from './audit.file.js';
import { verifyChains, webCryptoSha256, type LoggedMessage, type Verdict } from './verify.js';

type Entry = Schemas['AuditEntry'];
const PAGE = 1_000;
const PAGES_MAX = 50;

const useAudit = ({ namespace, cluster }: ClusterAt) =>
  useQuery({
    queryKey: ['cluster', namespace, cluster, 'audit'],
    queryFn: async () => {
      const items: Entry[] = [];
      const path = { namespace, cluster };
      let after = 0;
      for (let page = 0; page < PAGES_MAX; page += 1) {
        const answer = await dataOf(
          api.GET('/ns/{namespace}/clusters/{cluster}/audit', { params: { path, query: { after, limit: PAGE } } }),
        );
        items.push(...answer.items);
        if (answer.next === null) break;
        after = answer.next;
      }
      return items;
    },
    staleTime: 10_000,
  });

/** Who did what and why; the cause graph of an event; and the hash chain, verified by this browser. */
const AuditView = ({ namespace, cluster }: ClusterAt) => {
  const place = { namespace, cluster };
  const { data, error } = useAudit(place);
  const { query } = usePlace();
  const chosen = Number(query['event']);
  const event = data?.find(({ seq }) => seq === chosen);
  return (
    <div className="view">
      <header className="view-head">
        <h1>
          <Link to={clusterPath(namespace, cluster)} className="crumb">
            {namespace}/{cluster}
          </Link>
          <Icon name="next" /> Audit
        </h1>
      </header>
      <ClusterTabs {...place} tab="audit" />
      <Failure error={error} />
      <Verification place={place} />
      {data === undefined ? (
        error === null ? (
          <Loading what="the history" />
        ) : null
      ) : (
        <>
          {event === undefined ? null : (
            <Panel
              title={
                <>
                  Event {event.seq} <span className="dim">{event.type}</span>
                </>
              }
              side={
                <Link to={clusterPath(namespace, cluster)} query={{ at: event.seq }}>
                  The cluster then <Icon name="next" />
                </Link>
              }
            >
              <p className="sentence">{traceSentence(data, event.seq)}</p>
              <CauseGraphView history={data} seq={event.seq} place={place} />
              <EventData place={place} seq={event.seq} />
            </Panel>
          )}
          <History entries={data} chosen={chosen} />
        </>
      )}
    </div>
  );
};
export default AuditView;

/** What the event says, as it is recorded; read when it is opened. */
const EventData = ({ place, seq }: { readonly place: ClusterAt; readonly seq: number }) => {
  const [isOpen, setOpen] = useState(false);
  const { data, error } = useQuery({
    queryKey: ['event', place.namespace, place.cluster, seq],
    enabled: isOpen,
    queryFn: () =>
      dataOf(
        api.GET('/ns/{namespace}/clusters/{cluster}/events', {
          params: { path: place, query: { after: seq - 1, limit: 1 } },
        }),
      ),
  });
  const event = data?.items.find((one) => one.seq === seq);
  return (
    <details className="data" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>As it is recorded</summary>
      <Failure error={error} />
      {isOpen && data === undefined && error === null ? <Loading what="the event" /> : null}
      {event === undefined ? null : (
        <pre className="yaml" tabIndex={0} aria-label={`Event ${seq}`}>
          {JSON.stringify(event, undefined, 2)}
        </pre>
      )}
    </details>
  );
};

const SHOWN_STEP = 300;

const History = ({ entries, chosen }: { readonly entries: readonly Entry[]; readonly chosen: number }) => {
  const { query } = usePlace();
  const change = useQueryChange();
  const [shown, setShown] = useState(SHOWN_STEP);
  const search = (query['search'] ?? '').toLowerCase();
  const people = query['by'] === 'people';
  const found = entries
    .filter(
      ({ sentence, type, actor }) =>
        `${sentence} ${type} ${actor}`.toLowerCase().includes(search) && (!people || isPerson(actor)),
    )
    .toReversed();
  return (
    <Panel
      title="Who did what"
      side={
        <>
          <label className="search">
            <Icon name="search" />
            <input
              type="search"
              aria-label="Search the history"
              placeholder="Sentence, type, actor"
              defaultValue={query['search'] ?? ''}
              onChange={(input) => change({ search: input.target.value })}
            />
          </label>
          <Button aria-pressed={people} onClick={() => change({ by: people ? undefined : 'people' })}>
            <Icon name="person" /> People only
          </Button>
          <span className="dim num">{counted(found.length, 'event')}</span>
        </>
      }
    >
      <Table label="History" head={['Event', 'Time', 'Actor', 'What', 'Because']}>
        {found.slice(0, shown).map((entry) => (
          <tr key={entry.seq} className={entry.seq === chosen ? 'is-chosen' : ''}>
            <td className="num">
              <button
                type="button"
                className="linklike"
                title={entry.type}
                onClick={() => change({ event: entry.seq }, false)}
              >
                {entry.seq}
              </button>
            </td>
            <td className="num dim">
              <Clock at={entry.time} />
            </td>
            <td className="nowrap">
              {isPerson(entry.actor) ? <Icon name="person" /> : <Icon name="gear" />} {actorText(entry.actor)}
            </td>
            <td className="wrap">{entry.sentence}</td>
            <td className="num dim">
              {entry.because[0] === undefined ? '–' : `${entry.because[0].seq} ${entry.because[0].type}`}
            </td>
          </tr>
        ))}
      </Table>
      {found.length > shown ? (
        <Button onClick={() => setShown(shown + SHOWN_STEP)}>
          Show {Math.min(SHOWN_STEP, found.length - shown)} more
        </Button>
      ) : null}
    </Panel>
  );
};

interface Verified {
  readonly verdict: Verdict;
  readonly source: string;
}

const download = async (path: ClusterAt, onProgress: (count: number) => void): Promise<LoggedMessage[]> => {
  const messages: LoggedMessage[] = [];
  for (let after = 0; ;) {
    const { items, next } = await dataOf(
      api.GET('/ns/{namespace}/clusters/{cluster}/log', { params: { path, query: { after, limit: PAGE } } }),
    );
    messages.push(...items);
    onProgress(messages.length);
    if (next === null) return messages;
    after = next;
  }
};

/** Green only if this computer agrees. */
const Verification = ({ place }: { readonly place: ClusterAt }) => {
  const [count, setCount] = useState(0);
  const [log, setLog] = useState<readonly LoggedMessage[] | undefined>(undefined);
  const verify = useMutation({
    mutationFn: async (file: File | undefined): Promise<Verified> => {
      setCount(0);
      const messages = file === undefined ? await download(place, setCount) : await inFile(file);
      setLog(messages);
      const verdict = await verifyChains(messages, webCryptoSha256, { isComplete: true });
      return { verdict, source: file === undefined ? 'the log as the gateway has it' : file.name };
    },
  });
  const save = (): void => {
    const text = JSON.stringify({ kind: 'FairleadLog', ...place, items: log }, undefined, 1);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    link.download = `${place.namespace}-${place.cluster}.log.json`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  const { data } = verify;
  return (
    <Panel
      title="Verified by this browser"
      side={
        <>
          <Button onClick={() => verify.mutate(undefined)} disabled={verify.isPending}>
            {verify.isPending ? `Hashing ${count} …` : 'Verify the hash chains'}
          </Button>
          {log === undefined ? null : (
            <Button look="quiet" onClick={save}>
              Save the log
            </Button>
          )}
          <label className="button button-quiet">
            Verify a saved log
            <input
              type="file"
              className="hidden-input"
              accept="application/json,.json"
              onChange={(event: ChangeEvent<HTMLInputElement>) => {
                const file = event.target.files?.[0];
                if (file !== undefined) verify.mutate(file);
                event.target.value = '';
              }}
            />
          </label>
        </>
      }
    >
      <Failure error={verify.error} />
      {data === undefined ? (
        <p className="dim">
          The chains of SHA-256 are computed again here, over the downloaded messages; the gateway is not asked whether
          they are right.
        </p>
      ) : (
        <Result {...data} />
      )}
    </Panel>
  );
};

const FAULTS_SHOWN = 20;

const Result = ({ verdict, source }: Verified) => (
  <div role="status">
    <p>
      {verdict.faults.length === 0 ? <State state="done" word="Intact" /> : <State state="failed" word="Not intact" />}{' '}
      {counted(verdict.messages, 'message')} of {source} in {counted(verdict.chains, 'chain')}, {verdict.hashed} hashed
      here
      {verdict.hashed < verdict.messages
        ? `; of ${verdict.messages - verdict.hashed} only the hash is shown to you`
        : ''}
      .
    </p>
    {verdict.faults.length === 0 ? null : (
      <ul className="findings">
        {verdict.faults.slice(0, FAULTS_SHOWN).map(({ seq, context, fault }) => (
          <li key={`${seq} ${fault}`}>
            <span className="tone-error num">
              <Icon name="error" /> {seq}
            </span>
            <span>
              <code>{context}</code> {fault}
            </span>
          </li>
        ))}
      </ul>
    )}
    <details>
      <summary>Ends of the chains, to compare with what you noted before</summary>
      <ul className="ends num">
        {verdict.ends.map(({ context, seq, sha256 }) => (
          <li key={context} title={sha256}>
            {context} <span className="dim">event {seq}</span> {hashText(sha256)}
          </li>
        ))}
      </ul>
    </details>
  </div>
);
