import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";

import { errorMessage } from "@/api/problem";
import { changeJob } from "@/api/queries/job";
import type { JobListed } from "@/api/types";
import { QuietButton } from "@/components/quiet-button";

import classes from "./job-tags.module.css";
import { readTags, tagsText, tagText } from "./tags";

interface Props {
  job: JobListed;
  mayOperate: boolean;
}

/** A job's tags, each a way to all jobs with it; who may operate the project edits them as a line of text. */
export function JobTags({ job, mayOperate }: Props) {
  const [editing, setEditing] = useState(false);
  if (editing) return <TagsForm job={job} onDone={() => setEditing(false)} />;
  const tags = Object.entries(job.tags);
  return (
    <span className={classes.tags}>
      {tags.map(([name, value]) => (
        <Link
          key={name}
          to="/jobs"
          search={{ tag: [tagText(name, value)], project: job.project }}
          className={classes.tag}
          title={`Jobs with ${tagText(name, value)}`}
        >
          {tagText(name, value)}
        </Link>
      ))}
      {mayOperate && (
        <QuietButton
          onClick={() => setEditing(true)}
          aria-label={`${tags.length === 0 ? "Add" : "Edit"} tags: ${job.name}`}
        >
          {tags.length === 0 ? "Add tags" : "Edit tags"}
        </QuietButton>
      )}
    </span>
  );
}

function TagsForm({ job, onDone }: { job: JobListed; onDone: () => void }) {
  const client = useQueryClient();
  const [text, setText] = useState(tagsText(job.tags));
  const read = readTags(text);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const save = useMutation({
    mutationFn: (tags: Record<string, string>) => changeJob(job.id, { tags }),
    onSuccess: () => {
      onDone();
      return client.invalidateQueries({ queryKey: ["jobs"] });
    },
  });
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        if ("tags" in read) save.mutate(read.tags);
      }}
    >
      <TextInput
        ref={field}
        onKeyDown={(event) => {
          if (event.key === "Escape") onDone();
        }}
        label={`Tags of ${job.name}`}
        description="name=value, separated by commas"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        error={"error" in read ? read.error : save.isError ? errorMessage(save.error) : undefined}
      />
      <span className={classes.buttons}>
        <Button type="submit" size="xs" loading={save.isPending} disabled={"error" in read}>
          Save
        </Button>
        <Button type="button" size="xs" variant="default" onClick={onDone}>
          Cancel
        </Button>
      </span>
    </form>
  );
}
