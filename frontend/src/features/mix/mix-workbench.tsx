import { useQuery } from "@tanstack/react-query";
import { useRef, useState, type RefObject } from "react";

import { isWaiting } from "@/api/queries/mix";
import { projectSettingsQuery } from "@/api/queries/projects";
import type { Job, MixChange, MixVersion } from "@/api/types";

import type { ChangeRights } from "./change-actions";
import { ChangeList } from "./change-list";
import { ConflictPanel } from "./conflict-panel";
import type { Flow } from "./flow";
import { FlowPanel } from "./flow-panel";
import { MixEditor } from "./mix-editor";
import classes from "./mix-editor.module.css";
import { TakeUpQuestion } from "./take-up-question";
import { useMixEdit } from "./use-mix-edit";

interface Props {
  job: Job;
  newest: MixVersion;
  rights: ChangeRights;
  /** Where the newest version stands: the focus goes there after one was made. */
  newestHeading: RefObject<HTMLHeadingElement | null>;
}

/** Everything that changes the mix: changes that wait, a pause at once, and the editor. */
export function MixWorkbench({ job, newest, rights, newestHeading }: Props) {
  const edit = useMixEdit(job, newest, rights.username);
  const settings = useQuery(projectSettingsQuery(job.project));
  const [flow, setFlow] = useState<{ source: string; flow: Flow } | null>(null);
  const [offered, setOffered] = useState<MixChange | null>(null);
  const waitingHeading = useRef<HTMLHeadingElement>(null);
  const editorHeading = useRef<HTMLHeadingElement>(null);
  const approval = settings.data?.requires_approval ?? false;

  const sent = (made: MixVersion | MixChange) =>
    (isWaiting(made) ? waitingHeading : newestHeading).current?.focus();
  const takeUp = (change: MixChange) => {
    edit.takeUp(change);
    setOffered(null);
    editorHeading.current?.focus();
  };
  const closeFlow = () => {
    const source = flow?.source;
    setFlow(null);
    requestAnimationFrame(() => {
      const buttons = [...document.querySelectorAll<HTMLElement>("[data-flow]")];
      buttons.find((button) => button.dataset.flow === source)?.focus();
    });
  };
  return (
    <>
      <ChangeList
        job={job}
        newest={newest}
        rights={rights}
        heading={waitingHeading}
        // What was typed and not sent is never overwritten without a question.
        onTakeUp={(change) => (edit.touched ? setOffered(change) : takeUp(change))}
      />
      <section aria-labelledby="change-title">
        <h2 id="change-title" ref={editorHeading} tabIndex={-1} className={classes.heading}>
          Change the mix
        </h2>
        {offered && (
          <TakeUpQuestion
            change={offered}
            onTakeUp={() => takeUp(offered)}
            onKeep={() => setOffered(null)}
          />
        )}
        {flow && (
          <FlowPanel
            key={`${flow.flow}:${flow.source}`}
            jobId={job.id}
            newest={newest}
            {...flow}
            approval={approval}
            onSent={(made) => {
              setFlow(null);
              sent(made);
            }}
            onClose={closeFlow}
          />
        )}
        {edit.theirs && (
          <ConflictPanel
            draft={edit.draft}
            theirs={edit.theirs}
            onKeepMine={edit.keepMine}
            onMerge={edit.merge}
            onTakeTheirs={edit.takeTheirs}
          />
        )}
        <MixEditor
          job={job}
          newest={newest}
          edit={edit}
          approval={approval}
          onSent={sent}
          onFlow={(source, kind) => setFlow({ source, flow: kind })}
        />
      </section>
    </>
  );
}
