"""/users."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from ..fields import Name
from ..work import Work, reading, writing
from . import service
from .schemas import User, UserCreate, UserPage, UserPatch

router = APIRouter(tags=["users"])


@router.get("/users")
async def list_users(
    work: Annotated[Work, reading("server")],
    cursor: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> UserPage:
    """The people who can sign in, in the order they were added."""
    return await service.page(work, cursor=cursor, limit=limit)


@router.post("/users")
async def create_user(body: UserCreate, work: Annotated[Work, writing("server")]) -> User:
    """Add somebody."""
    return await service.invite(work, body)


@router.patch("/users/{username}")
async def change_user(
    username: Annotated[Name, Path()], body: UserPatch, work: Annotated[Work, writing("server")]
) -> User:
    """Make or unmake an administrator of the server, disable or enable, or set a new password."""
    return await service.change(work, username, body)
