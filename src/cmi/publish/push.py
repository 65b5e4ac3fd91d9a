"""Upload a published folder to the hub, by the hub's own client. The repository is private unless asked otherwise."""

from pathlib import Path

from cmi._util.errors import InputError, reason_of
from cmi._util.hub import quiet_hub, require_packages
from cmi.publish.publish import CARD, SUMS

FILES = (CARD, SUMS, "data/*.parquet")


def push(folder: Path, repository: str, is_public: bool = False) -> str:
    """Upload the folder to a data set's repository and return its address; what is there already is not sent again."""
    require_packages("uploading to the hub", "rewardbench", "huggingface_hub")
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError

    hub = HfApi()
    try:
        with quiet_hub():
            address = hub.create_repo(repository, repo_type="dataset", private=not is_public, exist_ok=True)
            if not is_public and not hub.dataset_info(repository).private:
                raise InputError(f"{repository} is public on the hub: add --public to upload there, or choose another")
            hub.upload_folder(
                folder_path=folder,
                repo_id=repository,
                repo_type="dataset",
                allow_patterns=list(FILES),
                delete_patterns=["data/*.parquet"],  # of an earlier version
                commit_message="Published by cmi",
            )
    except HFValidationError as error:
        raise InputError(f"--push {repository!r}: expected OWNER/NAME") from error
    except InputError:
        raise
    except Exception as error:  # the client raises its own errors, the HTTP library's and the system's
        is_denied = isinstance(error, LocalTokenNotFoundError) or (
            isinstance(error, HfHubHTTPError) and error.response.status_code in (401, 403)
        )
        now = (
            "log in with 'hf auth login' as somebody who may write there" if is_denied else "run the same command again"
        )
        raise InputError(f"{repository}: not uploaded ({reason_of(error)}); {folder} is complete: {now}") from error
    return str(address)
